#include "busbar/step/levers.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>

#include "busbar/choice/relief.h"

namespace busbar {
namespace {

constexpr double kLeastSaving = 0.005;  // of the step

struct Setting {
  std::string what, flag;
  std::function<void(LayoutSpec&)> change;
};

void add_degrees(const LayoutSpec& l, std::vector<Setting>& out) {
  const auto add = [&](std::string what, std::string flag, std::function<void(LayoutSpec&)> change) {
    out.push_back({std::move(what), std::move(flag), std::move(change)});
  };
  if (l.tp > 1)
    add(fmt::format("TP {} instead of {}", l.tp / 2, l.tp), fmt::format("--tp {}", l.tp / 2),
        [n = l.tp / 2](LayoutSpec& o) { o.tp = n, o.dp = 0; });
  if (l.pp > 1)
    add(fmt::format("PP {} instead of {}", l.pp / 2, l.pp), fmt::format("--pp {}", l.pp / 2),
        [n = l.pp / 2](LayoutSpec& o) { o.pp = n, o.dp = 0; });
  add(fmt::format("PP {} instead of {}", 2 * l.pp, l.pp), fmt::format("--pp {}", 2 * l.pp),
      [n = 2 * l.pp](LayoutSpec& o) { o.pp = n, o.dp = 0; });
  if (l.pp > 1 && !l.goes_back())
    add(fmt::format("{} model chunks per stage", 2 * l.vpp), fmt::format("--vpp {}", 2 * l.vpp),
        [n = 2 * l.vpp](LayoutSpec& o) { o.vpp = n; });
  if (l.pp > 1 && l.vpp == 1 && l.schedule == PipelineSchedule::k1F1B)
    add("gradients of weights fill the bubble (ZB-H1)", "--set layout.schedule=zb-h1",
        [](LayoutSpec& o) { o.schedule = PipelineSchedule::kZbH1; });
  add(fmt::format("micro-batches of {}", 2 * l.batch.micro), fmt::format("--micro-batch {}", 2 * l.batch.micro),
      [n = 2 * l.batch.micro](LayoutSpec& o) { o.batch.micro = n; });
}

/// Settings that can make steps shorter.
std::vector<Setting> faster_settings(const TrainRun& run) {
  const LayoutSpec& l = run.layout;
  std::vector<Setting> out;
  if (l.tp > 1 && !l.overlap.tp && l.sequence_parallel)
    out.push_back(
        {"overlap TP with GEMMs", "--set layout.overlap_tp=true", [](LayoutSpec& o) { o.overlap.tp = true; }});
  if (l.recomputation.kind != Recompute::kNone)
    out.push_back(
        {"no recomputation", "--recompute none", [](LayoutSpec& o) { o.recomputation.kind = Recompute::kNone; }});
  if (l.recomputation.kind == Recompute::kFull)
    out.push_back({"recompute attention only", "--recompute selective",
                   [](LayoutSpec& o) { o.recomputation.kind = Recompute::kSelective; }});
  if (l.data_ranks() > 1 && l.exchange.gradient_bytes > 2)
    out.push_back({"gradients in 16 bits", "--set layout.gradient_bytes=2",
                   [](LayoutSpec& o) { o.exchange.gradient_bytes = 2; }});
  if (l.shards_parameters() && !l.sharding.prefetch)
    out.push_back(
        {"prefetch parameters", "--set layout.prefetch=true", [](LayoutSpec& o) { o.sharding.prefetch = true; }});
  if (!l.cuda_graphs)
    out.push_back({"CUDA graphs", "--set layout.cuda_graphs=true", [](LayoutSpec& o) { o.cuda_graphs = true; }});
  const bool half = l.precision == Precision::kBf16 || l.precision == Precision::kFp16;
  if (half && run.kernels.fp8.peak_flops_per_s > 0)
    out.push_back({"matrix products in fp8 (changes the numerics)", "--precision fp8",
                   [](LayoutSpec& o) { o.precision = Precision::kFp8; }});
  add_degrees(l, out);
  return out;
}

/// The step in another layout of the same GPUs and batch; nothing where it cannot run or does not fit.
std::optional<Duration> step_in(const TrainRun& run, const Setting& setting) {
  LayoutSpec l = run.scenario.layout;
  l.batch.global = run.layout.batch.global;
  setting.change(l);
  const Result<LayoutSpec> layout = resolve_layout(l, run.scenario.model, run.layout.ranks());
  if (!layout.ok() || !check_fits(memory_use(run.scenario.model, *layout), run.memory_capacity).ok()) return {};
  const Result<StepResult> step = step_with(run, *layout);
  return step.ok() ? std::optional(step->step_time) : std::nullopt;
}

/// Of each kind of links between servers or in a scale-up domain, the group with all tiers.
std::vector<LinkGroup> whole_networks(const Topology& t) {
  std::map<LinkKind, LinkGroup> last;
  for (LinkGroup& g : link_groups(t)) {
    const LinkKind kind = t.link_classes()[g.classes.front()].kind;
    if (is_fabric(kind) || is_scale_up(kind)) last[kind] = std::move(g);
  }
  std::vector<LinkGroup> out;
  for (auto& [kind, group] : last) out.push_back(std::move(group));
  return out;
}

}  // namespace

Result<std::vector<Lever>> find_levers(const TrainRun& run, const Context& context) {
  std::vector<Lever> out;
  const std::vector<Setting> settings = faster_settings(run);
  const std::vector<LinkGroup> networks = whole_networks(run.cluster().topology);
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
  for (const LinkGroup& g : networks) {
    if (!context.go_on("changes", done++, all)) break;
    BUSBAR_ASSIGN(const Duration step, step_if(run, WhatIf{g.classes, 2.0, 1.0, {}}));
    add(fmt::format("links of twice the rate: {}", g.name), "", step);
  }
  context.go_on("changes", all, all);
  std::stable_sort(out.begin(), out.end(),
                   [](const Lever& a, const Lever& b) { return a.step_time_s < b.step_time_s; });
  return out;
}

}  // namespace busbar
