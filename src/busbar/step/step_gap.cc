#include "busbar/step/step_gap.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace busbar::step {
namespace {

constexpr double kLeastFactor = 1.0 / 64;
constexpr Duration kSlowLaunch = Duration::ps(20'000'000);  // as in the published runs of docs/models/step.md
constexpr double kUnevenSkew = 0.4;                         // standard deviation, of the mean

/// Of whole picoseconds.
double rounded_s(double seconds) { return duration_from_ps(seconds * 1e12).in_s(); }

using StepAt = std::function<Result<Duration>(double factor)>;

/// Faults with a factor of their own. `links`: name of a LinkGroup.
std::string usual_fault(const std::string& links, double factor) {
  const auto near = [&](double f) { return std::abs(factor / f - 1) < 0.12; };
  if (links.starts_with("pcie")) {
    if (near(0.5)) return "x8 instead of x16, or one generation less";
    return near(0.25) ? "x4 instead of x16, or two generations less" : "";
  }
  if (links.find("leaf-spine") != std::string::npos) return near(0.5) ? "half of the uplinks" : "";
  if (links.find("nic-") == std::string::npos) return "";
  if (near(0.5)) return "half of the ports";
  if (near(0.25)) return "two NICs of eight";
  if (near(0.125)) return "one NIC of eight";
  return factor < 0.11 ? "TCP instead of RDMA, or host memory on the way" : "";
}

class Search {
 public:
  Search(const TrainRun& run, Gap& gap, const Context& context) : run_(run), gap_(gap), context_(context) {}

  /// The factor with which the step takes as long as measured, or the least one.
  Status lower(const std::string& what, const StepAt& step, bool link) {
    double high = 1, high_s = gap_.expected_s, low = 1, low_s = high_s;  // step times rise as factors fall
    for (low = 0.25;; low /= 4) {
      BUSBAR_ASSIGN(low_s, seconds(step, low));
      if (low_s >= target() || low <= kLeastFactor) break;
      high = low, high_s = low_s;
    }
    for (int i = 0; i < 4 && low_s > target() * 1.002; ++i) {  // the step is nearly linear in 1 / factor
      const double part = (target() - high_s) / (low_s - high_s);
      const double factor = 1 / (1 / high + part * (1 / low - 1 / high));
      BUSBAR_ASSIGN(const double s, seconds(step, factor));
      (s >= target() ? low : high) = factor;
      (s >= target() ? low_s : high_s) = s;
      if (std::abs(s - target()) < 0.002 * target()) low = factor, low_s = s;
    }
    add({what, low, rounded_s(low_s), 0, link ? usual_fault(what, low) : ""});
    return {};
  }

  Status change(const std::string& what, const workload::LayoutSpec& layout) {
    if (!context_.go_on("causes", ++done_, kAtMost)) return {};
    const auto step = step_with(run_, layout);
    if (!step.ok()) return {};  // this layout cannot be changed so
    add({what, {}, rounded_s(step->step_time.in_s()), 0, ""});
    return {};
  }

 private:
  static constexpr std::size_t kAtMost = 64;  // steps, for the progress line
  double target() const { return gap_.measured_s; }
  Result<double> seconds(const StepAt& step, double factor) {
    if (!context_.go_on("causes", ++done_, kAtMost)) return gap_.expected_s;
    BUSBAR_ASSIGN(const Duration d, step(factor));
    return d.in_s();
  }
  void add(GapCause cause) {
    cause.explained_percent = 100 * (cause.step_time_s - gap_.expected_s) / (target() - gap_.expected_s);
    if (cause.explained_percent >= 1) gap_.causes.push_back(std::move(cause));
  }

  const TrainRun& run_;
  Gap& gap_;
  const Context& context_;
  std::size_t done_ = 0;
};

/// Settings of frameworks that make steps longer.
std::vector<std::pair<std::string, workload::LayoutSpec>> slower_settings(const workload::ModelSpec& model,
                                                                          const workload::LayoutSpec& l) {
  std::vector<std::pair<std::string, workload::LayoutSpec>> out;
  const auto add = [&](const char* what, auto change) {
    workload::LayoutSpec other = l;
    change(other);
    out.emplace_back(what, std::move(other));
  };
  if (l.recomputation.kind != workload::Recompute::kFull) {
    add("all layers are recomputed",
        [](workload::LayoutSpec& o) { o.recomputation.kind = workload::Recompute::kFull, o.recomputation.layers = 0; });
  }
  if (l.attention == workload::AttentionKernel::kFlash)
    add("attention is FlashAttention-2",
        [](workload::LayoutSpec& o) { o.attention = workload::AttentionKernel::kFlash2; });
  if (l.attention != workload::AttentionKernel::kUnfused)
    add("attention is not fused", [](workload::LayoutSpec& o) { o.attention = workload::AttentionKernel::kUnfused; });
  if (l.data_ranks() > 1 && l.overlap.grad_reduce)
    add("gradients are reduced after the backward pass",
        [](workload::LayoutSpec& o) { o.overlap.grad_reduce = false; });
  if (l.data_ranks() > 1 && l.overlap.param_gather && l.sharding.zero > 0)
    add("parameters are gathered before the forward pass",
        [](workload::LayoutSpec& o) { o.overlap.param_gather = false; });
  if (l.shards_parameters() && l.sharding.prefetch)
    add("parameters are not prefetched", [](workload::LayoutSpec& o) { o.sharding.prefetch = false; });
  if (l.vpp > 1 && l.overlap.p2p)
    add("sends between stages are not overlapped", [](workload::LayoutSpec& o) { o.overlap.p2p = false; });
  if (l.overlap.tp) add("TP is not overlapped with GEMMs", [](workload::LayoutSpec& o) { o.overlap.tp = false; });
  if (model.moe.experts == 0) return out;
  if (l.experts.overlap > 0)
    add("exchanges of experts are not overlapped", [](workload::LayoutSpec& o) { o.experts.overlap = 0; });
  if (l.experts.exchange != workload::ExpertExchange::kAllToAll)
    add("experts' tokens travel by NCCL's all-to-all",
        [](workload::LayoutSpec& o) { o.experts.exchange = workload::ExpertExchange::kAllToAll; });
  if (l.experts.launch < kSlowLaunch)
    add("each kernel of an expert is launched alone (20 us)",
        [](workload::LayoutSpec& o) { o.experts.launch = kSlowLaunch; });
  if (l.experts.skew < kUnevenSkew)
    add("the loads of experts differ by 0.4 of their mean",
        [](workload::LayoutSpec& o) { o.experts.skew = kUnevenSkew; });
  return out;
}

/// Those that explain the gap first, the smallest change of them first; then by what they explain.
void sort_causes(std::vector<GapCause>& causes) {
  const auto rank = [](const GapCause& c) {
    const bool explains = c.explained_percent >= kExplains && c.explained_percent <= 200 - kExplains;
    return std::pair(explains ? 0 : 1, explains ? (c.factor ? 1 / *c.factor : 1) : std::abs(100 - c.explained_percent));
  };
  std::stable_sort(causes.begin(), causes.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

}  // namespace

Result<Gap> explain_gap(const TrainRun& run, Duration measured, const Context& context) {
  Gap gap;
  const Duration expected = run.step.step_time;
  gap.measured_s = measured.in_s();
  gap.expected_s = expected.in_s();
  gap.gap_percent = 100 * (gap.measured_s / gap.expected_s - 1);
  gap.in_band = gap.gap_percent <= run.band.high_percent && gap.gap_percent >= run.band.low_percent;
  if (measured <= expected) return gap;
  Search search(run, gap, context);
  BUSBAR_RETURN_IF_ERROR(search.lower(
      "the slowest GPU computes at",
      [&](double f) -> Result<Duration> {
        workload::LayoutSpec l = run.layout;
        l.straggler.speed = std::min(1.0, run.layout.straggler.speed * f);
        BUSBAR_ASSIGN(const StepResult step, step_with(run, l));
        return step.step_time;
      },
      false));
  for (const choice::LinkGroup& g : choice::link_groups(run.cluster().topology)) {
    BUSBAR_RETURN_IF_ERROR(search.lower(
        g.name + " at a rate of",
        [&](double f) {
          return step_if(run, lowering::WhatIf{g.classes, f, 1.0, {}});
        },
        true));
  }
  for (const auto& [what, layout] : slower_settings(run.scenario.model, run.layout))
    BUSBAR_RETURN_IF_ERROR(search.change(what, layout));
  sort_causes(gap.causes);
  return gap;
}

}  // namespace busbar::step
