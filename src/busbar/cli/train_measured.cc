#include "busbar/cli/train_measured.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"

namespace busbar {
namespace {

constexpr double kLeastFactor = 1.0 / 64;
constexpr Duration kSlowLaunch = Duration::ps(20'000'000);  // as in the published runs of docs/models/step.md
constexpr double kUnevenSkew = 0.4;                         // standard deviation, of the mean
constexpr double kExplains = 80;  // percent of the gap: what explains less is no cause by itself

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
  Search(const TrainRun& run, Gap& gap, LongRun& watch)
      : run_(run), gap_(gap), watch_(watch), slowest_(gap.predicted.in_s() / run.step.step_time.in_s()) {}

  /// The factor with which the step takes as long as measured, or the least one.
  Status lower(const std::string& what, const StepAt& step, bool link) {
    double high = 1, high_s = gap_.predicted.in_s(), low = 1, low_s = high_s;  // step times rise as factors fall
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
    add({what, low, link ? usual_fault(what, low) : "", duration_from_ps(low_s * 1e12), 0});
    return {};
  }

  Status change(const std::string& what, const LayoutSpec& layout) {
    if (!watch_.go_on(++done_, kAtMost)) return {};
    const auto step = step_with(run_, layout);
    if (!step.ok()) return {};  // this layout cannot be changed so
    add({what, 0, "", duration_from_ps(step->step_time.in_s() * slowest_ * 1e12), 0});
    return {};
  }

 private:
  static constexpr std::size_t kAtMost = 64;  // steps, for the progress line
  double target() const { return gap_.measured.in_s(); }
  Result<double> seconds(const StepAt& step, double factor) {
    if (!watch_.go_on(++done_, kAtMost)) return gap_.predicted.in_s();
    BUSBAR_ASSIGN(const Duration d, step(factor));
    return d.in_s() * slowest_;
  }
  void add(GapCause cause) {
    cause.explained = 100 * (cause.step.in_s() - gap_.predicted.in_s()) / (target() - gap_.predicted.in_s());
    if (cause.explained >= 1) gap_.causes.push_back(std::move(cause));
  }

  const TrainRun& run_;
  Gap& gap_;
  LongRun& watch_;
  double slowest_;  ///< the expected step, which waits for the slowest GPU, in steps
  std::size_t done_ = 0;
};

/// Settings of frameworks that make steps longer.
std::vector<std::pair<std::string, LayoutSpec>> slower_settings(const ModelSpec& model, const LayoutSpec& l) {
  std::vector<std::pair<std::string, LayoutSpec>> out;
  const auto add = [&](const char* what, auto change) {
    LayoutSpec other = l;
    change(other);
    out.emplace_back(what, std::move(other));
  };
  if (l.recompute != Recompute::kFull) {
    add("all layers are recomputed", [](LayoutSpec& o) { o.recompute = Recompute::kFull, o.recompute_layers = 0; });
  }
  if (l.attention == AttentionKernel::kFlash)
    add("attention is FlashAttention-2", [](LayoutSpec& o) { o.attention = AttentionKernel::kFlash2; });
  if (l.attention != AttentionKernel::kUnfused)
    add("attention is not fused", [](LayoutSpec& o) { o.attention = AttentionKernel::kUnfused; });
  if (l.data_ranks() > 1 && l.overlap_grad_reduce)
    add("gradients are reduced after the backward pass", [](LayoutSpec& o) { o.overlap_grad_reduce = false; });
  if (l.data_ranks() > 1 && l.overlap_param_gather && l.zero > 0)
    add("parameters are gathered before the forward pass", [](LayoutSpec& o) { o.overlap_param_gather = false; });
  if (l.shards_parameters() && l.prefetch)
    add("parameters are not prefetched", [](LayoutSpec& o) { o.prefetch = false; });
  if (l.vpp > 1 && l.overlap_p2p)
    add("sends between stages are not overlapped", [](LayoutSpec& o) { o.overlap_p2p = false; });
  if (l.overlap_tp) add("TP is not overlapped with GEMMs", [](LayoutSpec& o) { o.overlap_tp = false; });
  if (model.moe.experts == 0) return out;
  if (l.overlap_ep > 0) add("exchanges of experts are not overlapped", [](LayoutSpec& o) { o.overlap_ep = 0; });
  if (l.expert_exchange != ExpertExchange::kAllToAll)
    add("experts' tokens travel by NCCL's all-to-all",
        [](LayoutSpec& o) { o.expert_exchange = ExpertExchange::kAllToAll; });
  if (l.expert_launch < kSlowLaunch)
    add("each kernel of an expert is launched alone (20 us)", [](LayoutSpec& o) { o.expert_launch = kSlowLaunch; });
  if (l.expert_skew < kUnevenSkew)
    add("the loads of experts differ by 0.4 of their mean", [](LayoutSpec& o) { o.expert_skew = kUnevenSkew; });
  return out;
}

/// Those that explain the gap first, the smallest change of them first; then by what they explain.
void sort_causes(std::vector<GapCause>& causes) {
  const auto rank = [](const GapCause& c) {
    const bool explains = c.explained >= kExplains && c.explained <= 200 - kExplains;
    return std::pair(explains ? 0 : 1, explains ? (c.factor > 0 ? 1 / c.factor : 1) : std::abs(100 - c.explained));
  };
  std::stable_sort(causes.begin(), causes.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

std::string change_words(const GapCause& c) {
  return c.factor > 0 ? fmt::format("{} {:.2f} of what is described", c.what, c.factor) : c.what;
}

}  // namespace

Result<Gap> explain_gap(const TrainRun& run, Duration measured, LongRun& watch) {
  Gap gap;
  gap.measured = measured;
  gap.predicted = duration_from_ps(step_spread(run).expected_s * 1e12);
  gap.in_band = 100 * gap.share() <= run.band.high_percent && 100 * gap.share() >= run.band.low_percent;
  if (measured <= gap.predicted) return gap;
  Search search(run, gap, watch);
  BUSBAR_RETURN_IF_ERROR(search.lower(
      "the slowest GPU computes at",
      [&](double f) -> Result<Duration> {
        LayoutSpec l = run.layout;
        l.straggler_speed = std::min(1.0, run.layout.straggler_speed * f);
        BUSBAR_ASSIGN(const StepResult step, step_with(run, l));
        return step.step_time;
      },
      false));
  for (const LinkGroup& g : link_groups(run.cluster().topology)) {
    BUSBAR_RETURN_IF_ERROR(search.lower(
        g.name + " at a rate of",
        [&](double f) {
          return step_if(run, WhatIf{g.classes, f, 1.0, {}});
        },
        true));
  }
  for (const auto& [what, layout] : slower_settings(run.scenario.model, run.layout))
    BUSBAR_RETURN_IF_ERROR(search.change(what, layout));
  sort_causes(gap.causes);
  return gap;
}

Paragraph gap_verdict(const Gap& g, bool traced) {
  std::string text =
      fmt::format("Measured {}, {:.0f} % {} than the {} predicted", format_duration(g.measured.in_s()),
                  std::abs(100 * g.share()), g.share() < 0 ? "shorter" : "longer", format_duration(g.predicted.in_s()));
  text += g.in_band ? ": within the band of the prediction." : ": outside the band of the prediction.";
  if (g.share() <= 0) return {text + (g.in_band ? "" : " The model is too slow here; a machine cannot be at fault.")};
  if (traced) return {std::move(text)};  // the trace says where; one cause for all of it may contradict its parts
  if (g.causes.empty() || g.causes.front().explained < kExplains)
    return {text + " No single cause below explains it; several, or one that is not modelled."};
  return {text + fmt::format(" The smallest single change that explains it: {}.", change_words(g.causes.front()))};
}

Table gap_table(const Gap& g) {
  Table t{"What alone would explain the measured step",
          {to_left("cause"), "factor", "step (s)", "explains (%)", to_left("as with")}};
  for (const GapCause& c : g.causes)
    t.rows.push_back({c.what, c.factor > 0 ? fmt::format("{:.2f}", c.factor) : "-", format_number(c.step.in_s()),
                      fmt::format("{:.0f}", c.explained), c.hint});
  return t;
}

Json gap_json(const Gap& g) {
  Json causes = Json::array();
  for (const GapCause& c : g.causes)
    causes.push_back({{"what", c.what},
                      {"factor", c.factor > 0 ? Json(c.factor) : Json()},
                      {"step_time_s", c.step.in_s()},
                      {"explained_percent", c.explained},
                      {"hint", c.hint}});
  return {{"measured_s", g.measured.in_s()},
          {"expected_s", g.predicted.in_s()},
          {"gap_percent", 100 * g.share()},
          {"in_band", g.in_band},
          {"causes", std::move(causes)}};
}

}  // namespace busbar
