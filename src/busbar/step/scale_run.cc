#include "busbar/step/scale_run.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/text.h"
#include "busbar/step/machine.h"

namespace busbar::step {
namespace {

constexpr std::uint32_t kMostGpus = 1u << 20;
constexpr double kHoursADay = 24;
constexpr double kRises = 0.005;  // of the efficiency; less is rounding of micro-batches and rings
constexpr double kMostOfIt = 0.5;

Error scale_error(std::string message) { return invalid(std::move(message), {"", 0, 0, "scale"}); }

/// "dgx-h100" of "dgx-h100:64": only presets exist in any size.
Result<std::string> preset_of(const std::string& cluster) {
  const std::size_t colon = cluster.find(':');
  const std::string name = cluster.substr(0, colon);
  if (name.find('/') == std::string::npos && !name.ends_with(".yaml") && !name.ends_with(".yml")) return name;
  return scale_error(fmt::format("'{}' is a file with a fixed size; name a preset such as dgx-h100", cluster));
}

Result<ScalePoint> one_point(spec::Scenario scenario, TrainAsk ask, const std::string& preset, std::uint32_t per_block,
                             std::uint32_t gpus, double usd) {
  ScalePoint p;
  scenario.cluster = fmt::format("{}:{}", preset, (gpus + per_block - 1) / per_block);
  ask.gpus = gpus;
  Result<TrainRun> run = step::predict(std::move(scenario), ask);
  if (!run.ok()) return run.error();
  p.layout = run->layout;
  p.step = run->step.step_time;
  p.breakdown = run->step.breakdown;
  p.tokens_per_s_per_gpu = run->metrics.tokens_per_s_per_gpu;
  p.mfu = run->metrics.mfu;
  p.tiers = run->cluster().topology.blocks().size() > 1
                ? static_cast<std::uint32_t>(run->cluster().fabric.switches.size())
                : 0;
  p.in_last = (gpus - 1) % per_block + 1;
  for (const CallUse& use : run->step.calls) {
    if (use.cls != program::OpClass::kDp) continue;
    p.data_algorithm = run->program.calls[index(use.call)].algorithm;
    break;
  }
  p.usd_per_day_percent =
      0.01 * kHoursADay * run->gpus_with_spares(gpus) * (usd > 0 ? usd : run->cluster().usd_per_gpu_hour);
  return p;
}

/// Why `after` is faster per GPU than `before`. Where routes are fixed, both steps run again on all equal paths.
std::string why_faster(const ScalePoint& before, const ScalePoint& after, const spec::Scenario& scenario,
                       const TrainAsk& ask, const std::string& preset, std::uint32_t per_block,
                       topology::RoutingPolicy routing) {
  if (routing != topology::RoutingPolicy::kStatic || after.tiers == 0)
    return cause_of_rise(before, after, per_block, nullptr);
  std::pair<ScalePoint, ScalePoint> sprayed;
  for (auto [of, out] : {std::pair(&before, &sprayed.first), std::pair(&after, &sprayed.second)}) {
    spec::Scenario again = scenario;
    again.layout = of->layout;
    again.cluster_overrides.set.emplace_back("routing=spray");
    Result<ScalePoint> point = one_point(std::move(again), ask, preset, per_block, of->layout.ranks(), 0);
    if (!point.ok()) return cause_of_rise(before, after, per_block, nullptr);
    *out = std::move(*point);
  }
  return cause_of_rise(before, after, per_block, &sprayed);
}

/// The scenario's layout for `gpus` GPUs, with the batch for weak or strong scaling.
workload::LayoutSpec layout_for(const workload::LayoutSpec& base, std::uint32_t gpus, bool weak) {
  workload::LayoutSpec l = base;
  l.dp = gpus / (l.tp * l.pp * l.cp);
  if (l.sharding.group > l.data_ranks()) l.sharding.group = 0;
  if (weak) l.batch.global = base.micro_batches() * base.batch.micro * l.dp;
  return l;
}

std::string why_not(const workload::LayoutSpec& l, std::uint32_t gpus) {
  const std::uint32_t replica = l.tp * l.pp * l.cp;
  if (gpus % replica != 0) return fmt::format("one replica needs {} GPUs", replica);
  if (l.batch.global % (l.dp * l.batch.micro) != 0) {
    return fmt::format("a batch of {} cannot be divided evenly among so many replicas", l.batch.global);
  }
  if (l.vpp > 1 && l.micro_batches() % l.pp != 0) return "fewer micro-batches than pipeline stages";
  return "";
}

double percent(Duration part, Duration whole) { return 100 * part.in_s() / whole.in_s(); }

}  // namespace

double ScalePoint::exposed_percent() const {
  const Breakdown& b = breakdown;
  return percent(b.exposed_tp + b.exposed_dp + b.exposed_pp + b.exposed_cp + b.exposed_ep, step);
}
double ScalePoint::data_percent() const { return percent(breakdown.exposed_dp, step); }
double ScalePoint::idle_percent() const { return busbar::step::idle_percent(breakdown, step); }

std::vector<const ScalePoint*> ScaleRun::curve(bool weak) const {
  std::vector<const ScalePoint*> out;
  for (const ScalePoint& p : points)
    if (p.weak == weak && p.skipped.empty()) out.push_back(&p);
  return out;
}

std::uint32_t ScaleRun::stops_hiding(bool weak) const {
  const ScalePoint* first = nullptr;
  for (const ScalePoint& p : points) {
    if (p.weak != weak || !p.skipped.empty()) continue;
    if (first == nullptr) first = &p;
    if (p.data_percent() > first->data_percent() + kStillHidden) return p.layout.ranks();
  }
  return 0;
}

Result<std::pair<std::uint32_t, std::uint32_t>> parse_range(const std::string& text, const char* field,
                                                            const char* what, const char* example, std::uint32_t most) {
  std::pair<std::uint32_t, std::uint32_t> range{0, 0};
  const std::size_t dots = text.find("..");
  const auto number = [most](std::string_view s, std::uint32_t& out) {
    return is_number(s, out) && out > 0 && out <= most;
  };
  if (dots == std::string::npos || !number(std::string_view(text).substr(0, dots), range.first) ||
      !number(std::string_view(text).substr(dots + 2), range.second) || range.first > range.second) {
    return invalid(fmt::format("'{}' is not a range of {}; write FROM..TO, for example {} (at most {})", text, what,
                               example, most),
                   {"", 0, 0, field});
  }
  return range;
}

Result<ScaleAsk> parse_scale(const std::string& text, const std::string& kind) {
  ScaleAsk ask;
  BUSBAR_ASSIGN(const auto range, parse_range(text, "scale", "GPUs", "8..131072", kMostGpus));
  ask.from = range.first;
  ask.to = range.second;
  if (kind != "weak" && kind != "strong" && kind != "both") {
    return invalid(fmt::format("'{}' is not a kind of scaling; write weak, strong or both", kind),
                   {"", 0, 0, "scaling"});
  }
  ask.weak = kind != "strong";
  ask.strong = kind != "weak";
  return ask;
}

Result<ScaleRun> run_scale(const spec::Scenario& scenario, const TrainAsk& asked, const ScaleAsk& scale,
                           const Context& context) {
  BUSBAR_ASSIGN(const std::string preset, preset_of(scenario.cluster));
  BUSBAR_ASSIGN(const spec::Cluster own, load_machine(scenario.cluster, scenario.cluster_overrides));
  BUSBAR_ASSIGN(const spec::Cluster one, load_machine(preset + ":1", scenario.cluster_overrides));
  const std::size_t whole = one.topology.gpus().size(), all = own.topology.gpus().size();
  const auto per_block = static_cast<std::uint32_t>(scenario.gpus_per_domain > 0 ? scenario.gpus_per_domain : whole);
  ScaleRun out;
  out.base_gpus = scale.base_gpus > 0 ? scale.base_gpus : static_cast<std::uint32_t>(all / whole * per_block);
  BUSBAR_ASSIGN(const workload::LayoutSpec base,
                workload::resolve_layout(scenario.layout, scenario.model, out.base_gpus));
  TrainAsk ask = asked;
  ask.timeline = ask.relief = ask.scaling = false;
  out.cluster = preset;
  out.model = scenario.model.name;
  out.usd_per_gpu_hour = scale.usd_per_gpu_hour > 0 ? scale.usd_per_gpu_hour : own.usd_per_gpu_hour;
  std::size_t sizes = 0;
  for (std::uint64_t gpus = scale.from; gpus <= scale.to; gpus *= 2) ++sizes;
  if (scale.weak && scale.strong) sizes *= 2;
  for (const bool weak : {true, false}) {
    if (weak ? !scale.weak : !scale.strong) continue;
    double best = 0;
    const ScalePoint* before = nullptr;
    out.points.reserve(sizes);  // `before` stays
    for (std::uint64_t gpus = scale.from; gpus <= scale.to; gpus *= 2) {
      if (!context.go_on("sizes", out.points.size(), sizes)) break;
      const auto n = static_cast<std::uint32_t>(gpus);
      spec::Scenario sized = scenario;
      sized.layout = layout_for(base, n, weak);
      ScalePoint p;
      p.layout = sized.layout;
      p.skipped = why_not(sized.layout, n);
      if (p.skipped.empty()) {
        Result<ScalePoint> point = one_point(std::move(sized), ask, preset, per_block, n, scale.usd_per_gpu_hour);
        if (!point.ok() && context.stopped()) break;
        if (!point.ok()) return point.error();
        p = std::move(*point);
        if (best == 0) best = p.tokens_per_s_per_gpu;
        p.efficiency = p.tokens_per_s_per_gpu / best;
        if (weak && before != nullptr && rises(*before, p))
          p.because = why_faster(*before, p, scenario, ask, preset, per_block, own.routing);
      }
      p.weak = weak;
      p.layout.dp = std::max(1u, p.layout.dp);
      out.points.push_back(std::move(p));
      if (out.points.back().skipped.empty()) before = &out.points.back();
    }
  }
  const bool none = std::all_of(out.points.begin(), out.points.end(), [](const auto& p) { return !p.skipped.empty(); });
  if (none && !context.stopped())
    return scale_error("no size in the range fits the layout: " + out.points.front().skipped);
  return out;
}

bool rises(const ScalePoint& a, const ScalePoint& b) { return b.efficiency > a.efficiency + kRises; }

std::string cause_of_rise(const ScalePoint& a, const ScalePoint& b, std::uint32_t per_server,
                          const std::pair<ScalePoint, ScalePoint>* sprayed) {
  const auto rise = [](const ScalePoint& from, const ScalePoint& to) {
    return to.tokens_per_s_per_gpu / from.tokens_per_s_per_gpu - 1;
  };
  if (sprayed != nullptr && rise(sprayed->first, sprayed->second) < kMostOfIt * rise(a, b))
    return fmt::format(
        "by their hash, routes share cables less at {} GPUs; with routing=spray a GPU has {:+.1f} % instead of {:+.1f} "
        "%",
        b.layout.ranks(), 100 * rise(sprayed->first, sprayed->second), 100 * rise(a, b));
  if (a.in_last < b.in_last && a.layout.ranks() > per_server)
    return fmt::format("the step uses {} instead of {} of the {} GPUs of the last server, whose NICs carry its rings",
                       b.in_last, a.in_last, per_server);
  if (a.data_algorithm != b.data_algorithm)
    return fmt::format("the largest exposed call of data parallelism runs as {} instead of {}", b.data_algorithm,
                       a.data_algorithm);
  return "";
}

}  // namespace busbar::step
