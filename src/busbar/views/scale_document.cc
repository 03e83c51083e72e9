#include "busbar/views/scale_document.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/quantity.h"
#include "busbar/views/scaling_drawing.h"

namespace busbar::views {
namespace {

report::Table curve_table(const step::ScaleRun& r, bool weak, const std::string& where) {
  report::Table t{(weak ? "Weak scaling" : "Strong scaling") + where +
                      (weak ? ": the batch grows with the machine" : ": the batch stays"),
                  {"GPUs", "DP", "batch", "step (s)", "tokens/s/GPU", "speed-up", "efficiency (%)", "idle GPUs",
                   "exposed (%)", "of it DP (%)", "idle (%)", "1 % costs ($/day)"}};
  for (const step::ScalePoint& p : r.points) {
    if (p.weak != weak || !p.skipped.empty()) continue;
    t.rows.push_back({std::to_string(p.layout.ranks()), std::to_string(p.layout.dp),
                      std::to_string(p.layout.batch.global), format_number(p.step.in_s()),
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
report::Table left_out(const step::ScaleRun& r, const std::string& where) {
  report::Table t{"Omitted sizes" + where,
                  {report::to_left("GPUs"), report::to_left("scaling"), report::to_left("why")}};
  const step::ScalePoint* from = nullptr;
  const step::ScalePoint* to = nullptr;
  const auto close = [&] {
    if (from == nullptr) return;
    const std::string first = std::to_string(from->layout.ranks()), last = std::to_string(to->layout.ranks());
    t.rows.push_back({from == to ? first : first + " to " + last, from->weak ? "weak" : "strong", from->skipped});
    from = nullptr;
  };
  for (const step::ScalePoint& p : r.points) {
    if (from != nullptr && (p.weak != from->weak || p.skipped != from->skipped)) close();
    if (p.skipped.empty()) continue;
    if (from == nullptr) from = &p;
    to = &p;
  }
  close();
  return t;
}

std::string word_for(const step::ScaleRun& r) { return r.change.empty() ? r.cluster : r.change; }

/// The efficiency at the largest size in one sentence; empty for one size.
std::string scale_in_words(const step::ScaleRun& r) {
  std::string out;
  for (const bool weak : {true, false}) {
    const auto curve = r.curve(weak);
    if (curve.size() < 2) continue;
    const step::ScalePoint &first = *curve.front(), &last = *curve.back();
    out += out.empty() ? fmt::format("{}: from {} to {} GPUs, a GPU keeps ", word_for(r), first.layout.ranks(),
                                     last.layout.ranks())
                       : ", ";
    out += fmt::format("{:.0f} % of its tokens per second if the batch {}", 100 * last.efficiency,
                       weak ? "grows" : "stays");
  }
  return out.empty() ? out : out + ".";
}

/// "At 4096 GPUs, cluster=dgx-b200:64 is 1.6 times as fast as dgx-h100.": where both have a point.
std::string side_by_side_in_words(const step::ScaleRun& r, const step::ScaleRun& base) {
  const bool weak = !base.curve(true).empty();
  const auto mine = r.curve(weak), its = base.curve(weak);
  if (mine.empty() || its.empty() || mine.back()->layout.ranks() != its.back()->layout.ranks()) return "";
  return fmt::format(" At {} GPUs, {} is {:.2g} times as fast as {}.", mine.back()->layout.ranks(), word_for(r),
                     mine.back()->tokens_per_s() / its.back()->tokens_per_s(), word_for(base));
}

/// All runs in one chart with one base, and where one catches up with another.
void add_together(const std::vector<step::ScaleRun>& runs, report::Document& d) {
  for (const bool weak : {true, false}) {
    d.add(draw_scalings(runs, weak), report::Audience::kPage);
    for (std::size_t i = 1; i < runs.size(); ++i)
      if (report::Table t = crossings(runs.front(), runs[i], weak); !t.rows.empty()) d.add(std::move(t));
  }
}

void add_run(const step::ScaleRun& r, bool several, report::Document& d) {
  std::string where;
  if (several) where = fmt::format(", {}", r.change.empty() ? r.cluster : r.change);
  for (const bool weak : {true, false}) {
    if (report::Drawing curve = draw_scaling(r, weak); !curve.shapes.empty()) {
      if (several) curve.title += where;
      d.add(std::move(curve), report::Audience::kPage);
    }
    if (report::Table t = curve_table(r, weak, where); !t.rows.empty()) d.add(std::move(t));
  }
  if (report::Table left = left_out(r, where); !left.rows.empty()) d.add(std::move(left));
}

}  // namespace

report::Document scale_document(const std::vector<step::ScaleRun>& runs) {
  const step::ScaleRun& first = runs.front();
  report::Document d{fmt::format("{} on {} of many sizes", first.model, first.cluster), {}, {}};
  std::string words;
  for (const step::ScaleRun& r : runs)
    if (const std::string one = scale_in_words(r); !one.empty()) words += (words.empty() ? "" : " ") + one;
  for (std::size_t i = 1; i < runs.size(); ++i) words += side_by_side_in_words(runs[i], first);
  if (!words.empty()) d.add(report::Highlight{words});
  if (runs.size() > 1) add_together(runs, d);
  for (const step::ScaleRun& r : runs) add_run(r, runs.size() > 1, d);
  std::string prices;
  for (const step::ScaleRun& r : runs) {
    prices += prices.empty() ? "" : ", ";
    prices += r.usd_per_gpu_hour > 0 ? fmt::format("${} per GPU-hour", format_number(r.usd_per_gpu_hour))
                                     : "unknown (set it with --usd-per-gpu-hour)";
    if (runs.size() > 1) prices += " for " + r.cluster;
  }
  d.blocks.push_back({report::Paragraph{
      fmt::format("idle: share of the step in which no kernel runs on the GPU. Price: {}.", prices)}});
  return d;
}

}  // namespace busbar::views
