#include "busbar/step/levers.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>

#include "busbar/choice/relief.h"

namespace busbar::step {
namespace {

constexpr double kLeastSaving = 0.005;  // of the step

struct Setting {
  std::string what, flag;
  std::function<void(workload::LayoutSpec&)> change;
};

void add_degrees(const workload::LayoutSpec& l, std::vector<Setting>& out) {
  const auto add = [&](std::string what, std::string flag, std::function<void(workload::LayoutSpec&)> change) {
    out.push_back({std::move(what), std::move(flag), std::move(change)});
  };
  if (l.tp > 1)
    add(fmt::format("TP {} instead of {}", l.tp / 2, l.tp), fmt::format("--tp {}", l.tp / 2),
        [n = l.tp / 2](workload::LayoutSpec& o) { o.tp = n, o.dp = 0; });
  if (l.pp > 1)
    add(fmt::format("PP {} instead of {}", l.pp / 2, l.pp), fmt::format("--pp {}", l.pp / 2),
        [n = l.pp / 2](workload::LayoutSpec& o) { o.pp = n, o.dp = 0; });
  add(fmt::format("PP {} instead of {}", 2 * l.pp, l.pp), fmt::format("--pp {}", 2 * l.pp),
      [n = 2 * l.pp](workload::LayoutSpec& o) { o.pp = n, o.dp = 0; });
  if (l.pp > 1 && !l.goes_back())
    add(fmt::format("{} model chunks per stage", 2 * l.vpp), fmt::format("--vpp {}", 2 * l.vpp),
        [n = 2 * l.vpp](workload::LayoutSpec& o) { o.vpp = n; });
  if (l.pp > 1 && l.vpp == 1 && l.schedule == workload::PipelineSchedule::k1F1B)
    add("gradients of weights fill the bubble (ZB-H1)", "--set layout.schedule=zb-h1",
        [](workload::LayoutSpec& o) { o.schedule = workload::PipelineSchedule::kZbH1; });
  add(fmt::format("micro-batches of {}", 2 * l.batch.micro), fmt::format("--micro-batch {}", 2 * l.batch.micro),
      [n = 2 * l.batch.micro](workload::LayoutSpec& o) { o.batch.micro = n; });
}

/// Settings that can make steps shorter.
std::vector<Setting> faster_settings(const TrainRun& run) {
  const workload::LayoutSpec& l = run.layout;
  std::vector<Setting> out;
  if (l.tp > 1 && !l.overlap.tp && l.sequence_parallel)
    out.push_back({"overlap TP with GEMMs", "--set layout.overlap.tp=true",
                   [](workload::LayoutSpec& o) { o.overlap.tp = true; }});
  if (l.recomputation.kind != workload::Recompute::kNone)
    out.push_back({"no recomputation", "--recompute none",
                   [](workload::LayoutSpec& o) { o.recomputation.kind = workload::Recompute::kNone; }});
  if (l.recomputation.kind == workload::Recompute::kFull)
    out.push_back({"recompute attention only", "--recompute selective",
                   [](workload::LayoutSpec& o) { o.recomputation.kind = workload::Recompute::kSelective; }});
  if (l.data_ranks() > 1 && l.exchange.gradient_bytes > 2)
    out.push_back({"gradients in 16 bits", "--set layout.gradient_bytes=2",
                   [](workload::LayoutSpec& o) { o.exchange.gradient_bytes = 2; }});
  if (l.shards_parameters() && !l.sharding.prefetch)
    out.push_back({"prefetch parameters", "--set layout.prefetch=true",
                   [](workload::LayoutSpec& o) { o.sharding.prefetch = true; }});
  if (!l.cuda_graphs)
    out.push_back(
        {"CUDA graphs", "--set layout.cuda_graphs=true", [](workload::LayoutSpec& o) { o.cuda_graphs = true; }});
  const bool half = l.precision == workload::Precision::kBf16 || l.precision == workload::Precision::kFp16;
  if (half && run.kernels.fp8.peak_flops_per_s > 0)
    out.push_back({"matrix products in fp8 (changes the numerics)", "--precision fp8",
                   [](workload::LayoutSpec& o) { o.precision = workload::Precision::kFp8; }});
  add_degrees(l, out);
  return out;
}

/// The step in another layout of the same GPUs and batch; nothing where it cannot run or does not fit.
std::optional<Duration> step_in(const TrainRun& run, const Setting& setting) {
  workload::LayoutSpec l = run.scenario.layout;
  l.batch.global = run.layout.batch.global;
  setting.change(l);
  const Result<workload::LayoutSpec> layout = workload::resolve_layout(l, run.scenario.model, run.layout.ranks());
  if (!layout.ok() ||
      !workload::check_fits(workload::memory_use(run.scenario.model, *layout), run.memory_capacity).ok())
    return {};
  const Result<StepResult> step = step_with(run, *layout);
  return step.ok() ? std::optional(step->step_time) : std::nullopt;
}

/// Of each kind of links between servers or in a scale-up domain, the group with all tiers.
std::vector<choice::LinkGroup> whole_networks(const topology::Topology& t) {
  std::map<topology::LinkKind, choice::LinkGroup> last;
  for (choice::LinkGroup& g : choice::link_groups(t)) {
    const topology::LinkKind kind = t.link_classes()[g.classes.front()].kind;
    if (topology::is_fabric(kind) || topology::is_scale_up(kind)) last[kind] = std::move(g);
  }
  std::vector<choice::LinkGroup> out;
  for (auto& [kind, group] : last) out.push_back(std::move(group));
  return out;
}

}  // namespace

Result<std::vector<Lever>> find_levers(const TrainRun& run, const Context& context) {
  std::vector<Lever> out;
  const std::vector<Setting> settings = faster_settings(run);
  const std::vector<choice::LinkGroup> networks = whole_networks(run.cluster().topology);
  const std::size_t all = settings.size() + networks.size();
  std::size_t done = 0;
  const auto add = [&](const std::string& what, const std::string& flag, Duration step) {
    const double step_s = run.step.step_time.in_s(), saved_s = step_s - step.in_s();
    if (saved_s > kLeastSaving * step_s)
      out.push_back({what, flag, step.in_s(), saved_s, run.cost.usd_per_day * saved_s / step_s});
  };
  for (const Setting& s : settings) {
    if (!context.go_on("changes", done++, all)) break;
    if (const auto step = step_in(run, s)) add(s.what, s.flag, *step);
  }
  for (const choice::LinkGroup& g : networks) {
    if (!context.go_on("changes", done++, all)) break;
    BUSBAR_ASSIGN(const Duration step, step_if(run, lowering::WhatIf{g.classes, 2.0, 1.0, {}}));
    add(fmt::format("links of twice the rate: {}", g.name), "", step);
  }
  context.go_on("changes", all, all);
  std::stable_sort(out.begin(), out.end(),
                   [](const Lever& a, const Lever& b) { return a.step_time_s < b.step_time_s; });
  return out;
}

}  // namespace busbar::step
