#include "busbar/views/traced_overlay.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/report/style.h"
#include "busbar/views/step_parts.h"

namespace busbar::views {
namespace {

constexpr double kSameOfSlice = 0.05;  // of a slice: a smaller difference is none
constexpr std::size_t kLargest = 10;
constexpr int kLonger = report::colour::kOptimizer, kShorter = report::colour::kDp, kAsLong = report::colour::kIdle;

report::TimelineRow parts_row(std::string group, const std::vector<step::OverlaySpan>& spans) {
  report::TimelineRow row{std::move(group), "step", {}};
  for (const step::OverlaySpan& s : spans) {
    report::TimelineSpan span;
    span.start_s = s.start_s;
    span.duration_s = s.duration_s;
    span.text = words_of_part(s.part);
    for (const StepPart& p : step_parts())
      if (s.part == p.key) span.colour = p.colour;
    row.spans.push_back(std::move(span));
  }
  return row;
}

bool as_long(const step::OverlaySlice& s) {
  return std::abs(s.more_s()) < kSameOfSlice * std::max(s.measured_s, s.predicted_s);
}

std::string more_words(double s) { return format_duration(std::abs(s)) + (s > 0 ? " longer" : " shorter"); }

report::TimelineView both_steps(const step::TracedOverlay& o, std::uint32_t rank) {
  report::TimelineView v;
  v.title = "The measured step over the predicted one";
  v.end_s = std::max(o.measured_s, o.predicted_s);
  v.rows = {parts_row(fmt::format("measured, rank {}, {}", rank, o.step), o.measured),
            parts_row("predicted, " + o.role, o.predicted)};
  for (const StepPart& p : step_parts()) {
    const auto has = [&](const auto& spans) {
      return std::any_of(spans.begin(), spans.end(), [&](const auto& s) { return s.part == p.key; });
    };
    if (has(o.measured) || has(o.predicted)) v.legend.emplace_back(p.words, p.colour);
  }
  v.note = "Other: idle, and copies to and from the GPU.";
  return v;
}

report::TimelineView differences(const step::TracedOverlay& o) {
  report::TimelineView v;
  v.title = "Where the measured step takes longer, and where it takes less";
  v.end_s = std::max(o.measured_s, o.predicted_s);
  report::TimelineRow row{"measured", "against predicted", {}};
  for (const step::OverlaySlice& s : o.slices) {
    report::TimelineSpan span;
    span.start_s = s.measured_from_s;
    span.duration_s = s.measured_s;
    span.colour = as_long(s) ? kAsLong : s.more_s() > 0 ? kLonger : kShorter;
    span.text = more_words(s.more_s()) + " than predicted";
    span.limit = fmt::format("mostly {}: {}", words_of_part(s.part), more_words(s.part_more_s));
    row.spans.push_back(std::move(span));
  }
  v.rows = {std::move(row)};
  v.legend = {{"longer than predicted", kLonger}, {"shorter", kShorter}, {"the same within 5 %", kAsLong}};
  v.note = fmt::format("Each piece is {:.3g} % of the computation, in both steps.",
                       100.0 / static_cast<double>(o.slices.size()));
  return v;
}

report::Table largest(const step::TracedOverlay& o) {
  report::Table t{
      "The ten largest differences",
      {"at (measured)", "at (predicted)", "measured", "predicted", "difference", report::to_left("mostly")}};
  std::vector<step::OverlaySlice> slices = o.slices;
  std::stable_sort(slices.begin(), slices.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.more_s()) > std::abs(b.more_s()); });
  if (slices.size() > kLargest) slices.resize(kLargest);
  for (const step::OverlaySlice& s : slices)
    t.rows.push_back({format_duration(s.measured_from_s), format_duration(s.predicted_from_s),
                      format_duration(s.measured_s), format_duration(s.predicted_s),
                      fmt::format("{}{}", s.more_s() < 0 ? "-" : "+", format_duration(std::abs(s.more_s()))),
                      fmt::format("{}, {}", words_of_part(s.part), more_words(s.part_more_s))});
  t.note = "At the same share of the computation in both steps.";
  return t;
}

}  // namespace

std::vector<report::BlockElement> overlay_blocks(const step::TracedStepGap& g) {
  if (g.overlay.slices.empty()) return {};
  return {both_steps(g.overlay, g.trace.rank), differences(g.overlay), largest(g.overlay)};
}

}  // namespace busbar::views
