#include "busbar/views/step_timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "busbar/base/quantity.h"
#include "busbar/report/style.h"
#include "busbar/views/step_parts.h"

namespace busbar::views {
namespace {

int colour_of_category(const std::string& category) {
  for (const StepPart& p : step_parts())
    if (category == p.key || "exposed_" + category == p.key) return p.colour;
  return report::colour::kOther;
}

class TimelineWriter {
 public:
  TimelineWriter(const step::TrainRun& run, double from_s, double to_s)
      : tl_(run.step.timeline), from_s_(from_s), to_s_(to_s) {
    for (const trace::Track& t : tl_.tracks) rows_.push_back({t.process, t.thread, {}});
  }

  std::vector<report::TimelineRow> write() {
    for (std::size_t s = 0; s < tl_.spans.size(); ++s) {
      const trace::Span& span = tl_.spans[s];
      const std::size_t row = index(span.track);
      std::string limit;
      if (span.bytes > 0) limit = format_binary_size(span.bytes);
      if (span.algorithm < tl_.strings.size()) limit += ", " + tl_.strings[span.algorithm];
      if (span.bound_by < tl_.strings.size()) limit += ", limited by " + tl_.strings[span.bound_by];
      add(row, span.start, span.duration, colour_of_category(tl_.strings[span.category]), tl_.strings[span.label],
          std::move(limit), static_cast<std::int64_t>(s), span.cause, span.critical);
    }
    for (const trace::Wait& wait : tl_.waits) add_wait(wait);
    for (report::TimelineRow& row : rows_)
      std::stable_sort(row.spans.begin(), row.spans.end(),
                       [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
    return std::move(rows_);
  }

 private:
  void add(std::size_t row, SimTime start, Duration length, int colour, std::string text, std::string limit,
           std::int64_t id, trace::SpanId cause, bool critical = false) {
    const double at = start.since_start().in_s(), s = length.in_s();
    if (at + s <= from_s_ || at >= to_s_ || s <= 0) return;
    rows_[row].spans.push_back({at, s, colour, std::move(text), std::move(limit), id,
                                cause == trace::kNoSpan ? -1 : static_cast<std::int64_t>(cause), id < 0, critical});
  }

  void add_wait(const trace::Wait& wait) {
    std::string text = "waits";
    if (wait.cause != trace::kNoSpan) {
      const trace::Span& cause = tl_.spans[index(wait.cause)];
      const std::string& other = tl_.tracks[index(cause.track)].process;
      text += " for " + tl_.strings[cause.label];
      if (other != tl_.tracks[index(wait.track)].process) text += " of " + other;
    }
    add(index(wait.track), wait.start, wait.duration, colour_of_category(tl_.strings[wait.part]), std::move(text), "",
        -1, wait.cause);
  }

  const trace::Timeline& tl_;
  double from_s_, to_s_;
  std::vector<report::TimelineRow> rows_;
};

void add_legend(report::TimelineView& v) {
  v.legend.clear();
  for (const StepPart& p : step_parts()) {
    const auto used = [&](const report::TimelineSpan& span) { return span.colour == p.colour; };
    const auto in_row = [&](const report::TimelineRow& row) {
      return std::any_of(row.spans.begin(), row.spans.end(), used);
    };
    if (!std::any_of(v.rows.begin(), v.rows.end(), in_row)) continue;
    const std::string_view words = p.words;
    v.legend.emplace_back(words.starts_with("exposed ") ? words.substr(8) : words, p.colour);
  }
}

struct LayerStarts {
  std::string process;
  std::vector<double> s;
  bool inside = false;
};

/// The starts of `label` in the row of compute that has most of them. Of neighbours with one label, the first counts.
LayerStarts starts_of(const trace::Timeline& tl, std::string_view label) {
  std::vector<LayerStarts> rows(tl.tracks.size());
  for (const trace::Span& span : tl.spans) {
    const trace::Track& track = tl.tracks[index(span.track)];
    if (track.thread != "compute") continue;
    LayerStarts& row = rows[index(span.track)];
    row.process = track.process;
    const bool is = tl.strings[span.label] == label;
    if (is && !row.inside) row.s.push_back(span.start.since_start().in_s());
    row.inside = is;
  }
  const auto most = std::max_element(rows.rbegin(), rows.rend(),  // of equals the last: models may begin otherwise
                                     [](const auto& a, const auto& b) { return a.s.size() < b.s.size(); });
  return most == rows.rend() ? LayerStarts{} : *most;
}

}  // namespace

report::TimelineView timeline_view(const step::TrainRun& r, std::string title, double from_s, double to_s) {
  report::TimelineView v;
  v.title = std::move(title);
  v.start_s = from_s;
  v.end_s = to_s;
  v.rows = TimelineWriter(r, from_s, to_s).write();
  std::erase_if(v.rows, [](const report::TimelineRow& row) { return row.spans.empty(); });
  add_legend(v);
  return v;
}

std::optional<report::TimelineView> layer_view(const step::TrainRun& r, std::string title, std::string_view label) {
  constexpr double kUsual = 1.02;  // times the median
  const auto [process, starts, inside] = starts_of(r.step.timeline, label);
  if (starts.size() < 3) return std::nullopt;
  std::vector<double> lengths;
  for (std::size_t i = 1; i < starts.size(); ++i) lengths.push_back(starts[i] - starts[i - 1]);
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  double from = starts[0], to = starts[1];
  for (std::size_t i = 1; i < starts.size(); ++i) {
    if (starts[i] - starts[i - 1] > kUsual * *middle) continue;  // from one micro-batch to the next
    from = starts[i - 1], to = starts[i];
    if (from >= r.step.balanced.in_s() / 2) break;
  }
  report::TimelineView out = timeline_view(r, std::move(title), from, to);
  std::erase_if(out.rows, [&name = process](const report::TimelineRow& row) { return row.group != name; });
  add_legend(out);
  return out;
}

}  // namespace busbar::views
