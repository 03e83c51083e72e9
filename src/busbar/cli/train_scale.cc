#include "busbar/cli/train_scale.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/cli/flags.h"
#include "busbar/cli/scaling_drawing.h"
#include "busbar/cli/train_report.h"
#include "busbar/step/machine.h"

namespace busbar {
namespace {

constexpr std::uint32_t kMostGpus = 1u << 20;
constexpr double kHoursPerDay = 24;

/// "dgx-h100" of "dgx-h100:64": only presets exist in any size.
Result<std::string> preset_of(const std::string& cluster) {
  const std::size_t colon = cluster.find(':');
  const std::string name = cluster.substr(0, colon);
  if (name.find('/') == std::string::npos && !name.ends_with(".yaml") && !name.ends_with(".yml")) return name;
  return flag_error("--scale",
                    fmt::format("'{}' is a file with a fixed size; name a preset such as dgx-h100", cluster));
}

Result<ScalePoint> one_point(Scenario scenario, TrainAsk ask, const std::string& preset, std::uint32_t per_block,
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
    if (use.cls != OpClass::kDp) continue;
    p.data_algorithm = run->program.calls[index(use.call)].algorithm;
    break;
  }
  p.usd_per_day_percent = 0.01 * kHoursPerDay * gpus * (usd > 0 ? usd : run->cluster().usd_per_gpu_hour);
  return p;
}

/// Why `after` is faster per GPU than `before`. Where routes are fixed, both steps run again on all equal paths.
std::string why_faster(const ScalePoint& before, const ScalePoint& after, const Scenario& scenario, const TrainAsk& ask,
                       const std::string& preset, std::uint32_t per_block, RoutingPolicy routing) {
  if (routing != RoutingPolicy::kStatic || after.tiers == 0) return cause_of_rise(before, after, per_block, nullptr);
  std::pair<ScalePoint, ScalePoint> sprayed;
  for (auto [of, out] : {std::pair(&before, &sprayed.first), std::pair(&after, &sprayed.second)}) {
    Scenario again = scenario;
    again.layout = of->layout;
    again.cluster_overrides.set.emplace_back("routing=spray");
    Result<ScalePoint> point = one_point(std::move(again), ask, preset, per_block, of->layout.ranks(), 0);
    if (!point.ok()) return cause_of_rise(before, after, per_block, nullptr);
    *out = std::move(*point);
  }
  return cause_of_rise(before, after, per_block, &sprayed);
}

/// The scenario's layout for `gpus` GPUs, with the batch for weak or strong scaling.
LayoutSpec layout_for(const LayoutSpec& base, std::uint32_t gpus, bool weak) {
  LayoutSpec l = base;
  l.dp = gpus / (l.tp * l.pp * l.cp);
  if (l.shard_group > l.data_ranks()) l.shard_group = 0;
  if (weak) l.global_batch = base.micro_batches() * base.micro_batch * l.dp;
  return l;
}

std::string why_not(const LayoutSpec& l, std::uint32_t gpus) {
  const std::uint32_t replica = l.tp * l.pp * l.cp;
  if (gpus % replica != 0) return fmt::format("one replica needs {} GPUs", replica);
  if (l.global_batch % (l.dp * l.micro_batch) != 0) {
    return fmt::format("a batch of {} cannot be divided evenly among so many replicas", l.global_batch);
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
double ScalePoint::idle_percent() const { return busbar::idle_percent(breakdown, step); }

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

Result<std::pair<std::uint32_t, std::uint32_t>> parse_range(const std::string& text, const char* flag, const char* what,
                                                            const char* example, std::uint32_t most) {
  std::pair<std::uint32_t, std::uint32_t> range{0, 0};
  const std::size_t dots = text.find("..");
  const auto number = [most](std::string_view s, std::uint32_t& out) {
    return is_number(s, out) && out > 0 && out <= most;
  };
  if (dots == std::string::npos || !number(std::string_view(text).substr(0, dots), range.first) ||
      !number(std::string_view(text).substr(dots + 2), range.second) || range.first > range.second) {
    return flag_error(flag, fmt::format("'{}' is not a range of {}; write FROM..TO, for example {} (at most {})", text,
                                        what, example, most));
  }
  return range;
}

Result<ScaleAsk> parse_scale(const std::string& text, const std::string& kind) {
  ScaleAsk ask;
  BUSBAR_ASSIGN(const auto range, parse_range(text, "--scale", "GPUs", "8..131072", kMostGpus));
  ask.from = range.first;
  ask.to = range.second;
  if (kind != "weak" && kind != "strong" && kind != "both") {
    return flag_error("--scaling", fmt::format("'{}' is not a kind of scaling; write weak, strong or both", kind));
  }
  ask.weak = kind != "strong";
  ask.strong = kind != "weak";
  return ask;
}

Result<ScaleRun> run_scale(const Scenario& scenario, const TrainAsk& asked, const ScaleAsk& scale, LongRun& watch) {
  BUSBAR_ASSIGN(const std::string preset, preset_of(scenario.cluster));
  BUSBAR_ASSIGN(const Cluster own, load_machine(scenario.cluster, scenario.cluster_overrides));
  BUSBAR_ASSIGN(const Cluster one, load_machine(preset + ":1", scenario.cluster_overrides));
  const auto per_block = static_cast<std::uint32_t>(one.topology.gpus().size());
  ScaleRun out;
  out.base_gpus = scale.base_gpus > 0 ? scale.base_gpus : static_cast<std::uint32_t>(own.topology.gpus().size());
  BUSBAR_ASSIGN(const LayoutSpec base, resolve_layout(scenario.layout, scenario.model, out.base_gpus));
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
      if (!watch.go_on(out.points.size(), sizes)) break;
      const auto n = static_cast<std::uint32_t>(gpus);
      Scenario sized = scenario;
      sized.layout = layout_for(base, n, weak);
      ScalePoint p;
      p.layout = sized.layout;
      p.skipped = why_not(sized.layout, n);
      if (p.skipped.empty()) {
        Result<ScalePoint> point = one_point(std::move(sized), ask, preset, per_block, n, scale.usd_per_gpu_hour);
        if (!point.ok() && watch.interrupted()) break;
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
  if (none && !watch.interrupted())
    return flag_error("--scale", "no size in the range fits the layout: " + out.points.front().skipped);
  return out;
}

Json scale_json(const ScaleRun& r) {
  Json j{{"schema", "busbar.train/1"}, {"cluster", r.cluster},
         {"model", r.model},           {"usd_per_gpu_hour", r.usd_per_gpu_hour},
         {"points", Json::array()},    {"skipped", Json::array()}};
  if (!r.change.empty()) j["change"] = r.change;
  for (const ScalePoint& p : r.points) {
    Json row{
        {"change", r.change}, {"scaling", p.weak ? "weak" : "strong"}, {"gpus", p.layout.ranks()}, {"dp", p.layout.dp}};
    if (!p.skipped.empty()) {
      row["reason"] = p.skipped;
      j["skipped"].push_back(std::move(row));
      continue;
    }
    row["global_batch"] = p.layout.global_batch;
    row["step_time_s"] = p.step.in_s();
    row["tokens_per_s_per_gpu"] = p.tokens_per_s_per_gpu;
    row["mfu"] = p.mfu;
    row["efficiency"] = p.efficiency;
    row["idle_gpus"] = p.idle_gpus();
    row["tokens_per_s"] = p.tokens_per_s();
    row["switch_tiers"] = p.tiers;
    if (!p.because.empty()) row["faster_because"] = p.because;
    row["exposed_percent"] = p.exposed_percent();
    row["exposed_dp_percent"] = p.data_percent();
    row["idle_percent"] = p.idle_percent();
    row["usd_per_day_per_percent"] = p.usd_per_day_percent;
    for (const auto& [name, d] : breakdown_rows(p.breakdown)) row["breakdown_s"][name] = d.in_s();
    j["points"].push_back(std::move(row));
  }
  for (const bool weak : {true, false}) {
    const std::uint32_t n = r.stops_hiding(weak);
    j["stops_hiding_at_gpus"][weak ? "weak" : "strong"] = n == 0 ? Json(nullptr) : Json(n);
  }
  return j;
}

namespace {

Table curve_table(const ScaleRun& r, bool weak, const std::string& where) {
  Table t{(weak ? "Weak scaling" : "Strong scaling") + where +
              (weak ? ": the batch grows with the machine" : ": the batch stays"),
          {"GPUs", "DP", "batch", "step (s)", "tokens/s/GPU", "speed-up", "efficiency (%)", "idle GPUs", "exposed (%)",
           "of it DP (%)", "idle (%)", "1 % costs ($/day)"}};
  for (const ScalePoint& p : r.points) {
    if (p.weak != weak || !p.skipped.empty()) continue;
    t.rows.push_back({std::to_string(p.layout.ranks()), std::to_string(p.layout.dp),
                      std::to_string(p.layout.global_batch), format_number(p.step.in_s()),
                      format_number(p.tokens_per_s_per_gpu),
                      format_number(p.tokens_per_s() / r.curve(weak).front()->tokens_per_s_per_gpu),
                      fmt::format("{:.1f}", 100 * p.efficiency), fmt::format("{:.0f}", std::max(0.0, p.idle_gpus())),
                      fmt::format("{:.1f}", p.exposed_percent()), fmt::format("{:.1f}", p.data_percent()),
                      fmt::format("{:.1f}", p.idle_percent()),
                      p.usd_per_day_percent > 0 ? fmt::format("{:.0f}", p.usd_per_day_percent) : "-"});
  }
  if (t.rows.size() < 2) return t;
  t.note = hiding_words(r, weak) + remarks_on(r, weak);
  t.note +=
      fmt::format(" Base: {} GPUs at {} tokens/s each; speed-up 1 is one of them.",
                  r.curve(weak).front()->layout.ranks(), format_number(r.curve(weak).front()->tokens_per_s_per_gpu));
  return t;
}

/// Neighbouring sizes that are omitted for the same reason share a line.
Table left_out(const ScaleRun& r, const std::string& where) {
  Table t{"Omitted sizes" + where, {to_left("GPUs"), to_left("scaling"), to_left("why")}};
  const ScalePoint* from = nullptr;
  const ScalePoint* to = nullptr;
  const auto close = [&] {
    if (from == nullptr) return;
    const std::string first = std::to_string(from->layout.ranks()), last = std::to_string(to->layout.ranks());
    t.rows.push_back({from == to ? first : first + " to " + last, from->weak ? "weak" : "strong", from->skipped});
    from = nullptr;
  };
  for (const ScalePoint& p : r.points) {
    if (from != nullptr && (p.weak != from->weak || p.skipped != from->skipped)) close();
    if (p.skipped.empty()) continue;
    if (from == nullptr) from = &p;
    to = &p;
  }
  close();
  return t;
}

std::string word_for(const ScaleRun& r) { return r.change.empty() ? r.cluster : r.change; }

/// The efficiency at the largest size in one sentence; empty for one size.
std::string scale_in_words(const ScaleRun& r) {
  std::string out;
  for (const bool weak : {true, false}) {
    const auto curve = r.curve(weak);
    if (curve.size() < 2) continue;
    const ScalePoint &first = *curve.front(), &last = *curve.back();
    out += out.empty() ? fmt::format("{}: from {} to {} GPUs, a GPU keeps ", word_for(r), first.layout.ranks(),
                                     last.layout.ranks())
                       : ", ";
    out += fmt::format("{:.0f} % of its tokens per second if the batch {}", 100 * last.efficiency,
                       weak ? "grows" : "stays");
  }
  return out.empty() ? out : out + ".";
}

/// "At 4096 GPUs, cluster=dgx-b200:64 is 1.6 times as fast as dgx-h100.": where both have a point.
std::string side_by_side_in_words(const ScaleRun& r, const ScaleRun& base) {
  const bool weak = !base.curve(true).empty();
  const auto mine = r.curve(weak), its = base.curve(weak);
  if (mine.empty() || its.empty() || mine.back()->layout.ranks() != its.back()->layout.ranks()) return "";
  return fmt::format(" At {} GPUs, {} is {:.2g} times as fast as {}.", mine.back()->layout.ranks(), word_for(r),
                     mine.back()->tokens_per_s() / its.back()->tokens_per_s(), word_for(base));
}

/// All runs in one chart with one base, and where one catches up with another.
void add_together(const std::vector<ScaleRun>& runs, Document& d) {
  for (const bool weak : {true, false}) {
    d.add(draw_scalings(runs, weak), Audience::kPage);
    for (std::size_t i = 1; i < runs.size(); ++i)
      if (Table t = crossings(runs.front(), runs[i], weak); !t.rows.empty()) d.add(std::move(t));
  }
}

void add_run(const ScaleRun& r, bool several, Document& d) {
  std::string where;
  if (several) where = fmt::format(", {}", r.change.empty() ? r.cluster : r.change);
  for (const bool weak : {true, false}) {
    if (Drawing curve = draw_scaling(r, weak); !curve.shapes.empty()) {
      if (several) curve.title += where;
      d.add(std::move(curve), Audience::kPage);
    }
    if (Table t = curve_table(r, weak, where); !t.rows.empty()) d.add(std::move(t));
  }
  if (Table left = left_out(r, where); !left.rows.empty()) d.add(std::move(left));
}

}  // namespace

Document scale_document(const std::vector<ScaleRun>& runs, const std::string& typed) {
  const ScaleRun& first = runs.front();
  Document d{fmt::format("{} on {} of many sizes", first.model, first.cluster), typed, {}};
  std::string words;
  for (const ScaleRun& r : runs)
    if (const std::string one = scale_in_words(r); !one.empty()) words += (words.empty() ? "" : " ") + one;
  for (std::size_t i = 1; i < runs.size(); ++i) words += side_by_side_in_words(runs[i], first);
  if (!words.empty()) d.add(Highlight{words});
  if (runs.size() > 1) add_together(runs, d);
  for (const ScaleRun& r : runs) add_run(r, runs.size() > 1, d);
  std::string prices;
  for (const ScaleRun& r : runs) {
    prices += prices.empty() ? "" : ", ";
    prices += r.usd_per_gpu_hour > 0 ? fmt::format("${} per GPU-hour", format_number(r.usd_per_gpu_hour))
                                     : "unknown (set it with --usd-per-gpu-hour)";
    if (runs.size() > 1) prices += " for " + r.cluster;
  }
  d.blocks.push_back(
      {Paragraph{fmt::format("idle: share of the step in which no kernel runs on the GPU. Price: {}.", prices)}});
  return d;
}

}  // namespace busbar
