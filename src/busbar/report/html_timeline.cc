#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "busbar/base/json.h"
#include "busbar/report/internal/coalesce.h"
#include "busbar/report/internal/html_parts.h"
#include "busbar/report/internal/scale.h"
#include "busbar/report/internal/timeline_script.h"
#include "busbar/report/plain.h"
#include "busbar/report/style.h"

namespace busbar::report {
namespace {

constexpr double kWide = 10'000;                // x units of the picture; about 10 per pixel
constexpr int kColumns = 1'000;                 // as many as a screen can show
constexpr std::size_t kCells = 24'000;          // stacks of all rows: keeps the page below 1.5 MB
constexpr std::size_t kSingleSpans = 3'500;     // rectangles with a separate tool tip
constexpr std::size_t kExploredSpans = 40'000;  // of the script: some 8 bytes each
constexpr double kTimeUnits = 1e7;              // of the script's times in the whole view
constexpr std::size_t kRows = 160;
constexpr int kHatchedWidth = 36;                                // x units: half a tile of lines
constexpr double kSheetHeight = 960;                             // px of a sheet of paper below a heading
constexpr double kRow = 20, kBar = 15, kGroup = 26, kTop = 2.5;  // px; page_css has the same heights

struct Picture {
  const TimelineView& view;
  std::size_t rows;
  double column_s, shortest_s;
  std::string names, lanes, marks;
  std::map<int, std::string> hatched;  ///< by colour: the rectangles that have room for lines, as one path
  double height = 0;
  bool gathered = false;

  int x(double t) const {
    const double at = (t - view.start_s) / (view.end_s - view.start_s) * kWide;
    return static_cast<int>(std::lround(std::clamp(at, 0.0, kWide)));
  }
};

std::string tip(const TimelineSpan& span, const UnitScale& scale) {
  std::string out = escape_markup(span.text);
  if (!out.empty()) out += ", ";
  out += UnitScale(span.duration_s, "s").text(span.duration_s) + " from " + scale.text(span.start_s);
  return span.limit.empty() ? out : out + ", " + escape_markup(span.limit);
}

/// Rules under the spans that decide how long the whole takes; those closer than a column become one.
std::string critical_path(const Picture& p, const TimelineRow& row, double top) {
  std::string out;
  double from = 0, to = -1;
  const auto close = [&] {
    if (to > from)
      out += fmt::format("M{} {}h{}v2h-{}z", p.x(from), coordinate(top + kBar), p.x(to) - p.x(from) + 1,
                         p.x(to) - p.x(from) + 1);
  };
  for (const TimelineSpan& span : row.spans) {
    if (!span.critical) continue;
    if (to < from || span.start_s > to + p.column_s) close(), from = span.start_s;
    to = span.start_s + span.duration_s;
  }
  close();
  return out;
}

/// Stacks of one colour as one path: about 15 bytes each.
void add_row(Picture& p, const TimelineRow& row, const UnitScale& scale) {
  const double top = p.height + kTop;
  p.lanes += fmt::format("<path d=\"M0 {}h10000v{}h-10000z\" class=\"lane\"/>\n", coordinate(top), coordinate(kBar));
  std::map<int, std::string> paths;
  for (const TimelinePiece& piece : coalesce(row, p.column_s, p.shortest_s)) {
    if (piece.end_s <= p.view.start_s || piece.start_s >= p.view.end_s) continue;
    const int from = p.x(piece.start_s), to = std::max(from + 1, p.x(piece.end_s));
    if (piece.span != nullptr && piece.span->duration_s >= p.shortest_s) {
      p.marks +=
          fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"c{}\"><title>{}</title></rect>\n",
                      from, coordinate(top), to - from, coordinate(kBar), piece.colour, tip(*piece.span, scale));
      if (to - from >= kHatchedWidth && is_hatched(piece.colour))
        p.hatched[piece.colour] +=
            fmt::format("M{} {}h{}v{}h-{}z", from, coordinate(top), to - from, coordinate(kBar), to - from);
      continue;
    }
    p.gathered = p.gathered || piece.span == nullptr;
    const auto y = [&](double share) { return std::round((top + kBar * (1 - std::min(1.0, share))) * 10) / 10; };
    const double high = y(piece.high), low = y(piece.low);
    paths[piece.colour] +=
        fmt::format("M{} {}h{}v{}h-{}z", from, coordinate(high), to - from, coordinate(low - high), to - from);
  }
  if (const std::string d = critical_path(p, row, top); !d.empty())
    p.marks += "<path class=\"critical\" d=\"" + d + "\"/>\n";
  for (const auto& [index, d] : paths) p.marks += fmt::format("<path class=\"c{}\" d=\"{}\"/>\n", index, d);
  p.names += fmt::format("<div class=\"s\">{}</div>\n", escape_markup(row.name));
  p.height += kRow;
}

Picture draw(const TimelineView& view, const UnitScale& scale) {
  const std::size_t rows = std::min(view.rows.size(), kRows);
  const auto columns =
      static_cast<double>(std::clamp<std::size_t>(kCells / std::max<std::size_t>(1, rows), 100, kColumns));
  const double column_s = (view.end_s - view.start_s) / columns;
  Picture p{view, rows, column_s, single_span_limit(view, 2 * column_s, kSingleSpans), {}, {}, {}, {}};
  const std::string* group = nullptr;
  for (std::size_t r = 0; r < rows; ++r) {
    const TimelineRow& row = view.rows[r];
    if (!row.group.empty() && (group == nullptr || *group != row.group)) {
      p.names += fmt::format("<div class=\"g\">{}</div>\n", escape_markup(row.group));
      p.height += kGroup;
    }
    group = &row.group;
    add_row(p, row, scale);
  }
  return p;
}

/// Lines are in the picture, labels are HTML below it: letters must not be stretched with the picture.
std::string axis(const TimelineView& view, const UnitScale& scale, double height, std::string& lines) {
  std::string out = "<div class=\"ticks\" aria-hidden=\"true\">";
  const auto ticks = nice_ticks(view.start_s, view.end_s, 7, scale.factor());
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double at = 100 * (ticks[i].value - view.start_s) / (view.end_s - view.start_s);
    lines += fmt::format("<path d=\"M{} 0v{}\" class=\"grid\"/>", coordinate(at * kWide / 100), coordinate(height));
    const bool last = i + 1 == ticks.size();
    const char* kind = at < 2 ? " class=\"first\"" : at > 95 ? " class=\"last\"" : "";
    out += fmt::format("<span{} style=\"left:{}%\">{}{}</span>", kind, coordinate(at), ticks[i].label,
                       last ? " " + scale.unit() : "");
  }
  return out + "</div>\n";
}

std::string notes(const TimelineView& view, const Picture& p) {
  std::string out;
  if (!view.note.empty()) out += "<p class=\"note\">" + escape_markup(view.note) + "</p>\n";
  std::string rule;
  if (p.gathered) {
    const std::string limit = UnitScale(p.shortest_s, "s", 2).text(p.shortest_s);
    rule = "Spans shorter than " + limit + " are gathered: the height of a colour is its share of the time there.";
  }
  if (p.rows < view.rows.size()) {
    rule += fmt::format("{}{} more rows are not drawn.", rule.empty() ? "" : " ", view.rows.size() - p.rows);
  }
  return rule.empty() ? out : out + "<p class=\"note gathered\">" + rule + "</p>\n";
}

/// Strings of the spans, each once.
class NameTable {
 public:
  std::int64_t of(const std::string& name) {
    const auto [it, fresh] = at_.emplace(name, static_cast<std::int64_t>(at_.size()));
    if (fresh) all_.push_back(name);
    return it->second;
  }
  Json take() { return std::move(all_); }

 private:
  std::map<std::string, std::int64_t> at_;
  Json all_ = Json::array();
};

/// The spans for the script. Most of them are alike, so a row has two numbers a span: the time from the end of the one
/// before, and an index into `kinds`: (length, colour, name, limit or -1, cause, 1 for a wait + 2 on the critical
/// path). The cause is a row, whose span ends where this one starts or where a wait ends; -1: none; below: -2 - name of
/// one that is left out. Only the longest kExploredSpans, and their causes.
class ScriptData {
 public:
  explicit ScriptData(const TimelineView& view)
      : view_(view), shortest_s_(single_span_limit(view, 0, kExploredSpans)) {}
  bool has_all() const { return shortest_s_ <= 0; }

  std::string write() {
    find_causes();
    number_rows();
    Json rows = Json::array();
    for (const TimelineRow& row : view_.rows)
      if (Json spans = spans_of(row); spans.size() > 0)
        rows.push_back({{"g", row.group}, {"n", row.name}, {"s", std::move(spans)}});
    const Json data{{"unit", unit_s_},        {"start", units(view_.start_s)}, {"end", units(view_.end_s)},
                    {"names", names_.take()}, {"kinds", std::move(kinds_)},    {"rows", std::move(rows)}};
    return script_data(data);
  }

 private:
  using Kind = std::array<std::int64_t, 6>;

  std::int64_t units(double s) const { return std::llround(s / unit_s_); }
  bool drawn(const TimelineSpan& span) const { return span.duration_s >= shortest_s_ || causes_.contains(span.id); }

  void find_causes() {
    for (const TimelineRow& row : view_.rows)
      for (const TimelineSpan& span : row.spans) {
        if (span.id >= 0) all_.emplace(span.id, &span);
        if (span.duration_s >= shortest_s_ && span.cause >= 0) causes_.insert(span.cause);
      }
  }

  std::int64_t cause_of(const TimelineSpan& span) {
    if (const auto row = row_of_.find(span.cause); row != row_of_.end()) return row->second;
    const auto left_out = all_.find(span.cause);
    if (left_out == all_.end()) return -1;
    const double s = left_out->second->duration_s;
    return -2 - names_.of(left_out->second->text + ", " + UnitScale(s, "s", 2).text(s));
  }

  /// The number of each span's row among those that the script gets.
  void number_rows() {
    std::int64_t n = 0;
    for (const TimelineRow& row : view_.rows) {
      bool any = false;
      for (const TimelineSpan& span : row.spans) {
        if (!drawn(span)) continue;
        any = true;
        if (span.id >= 0) row_of_.emplace(span.id, n);
      }
      n += any ? 1 : 0;
    }
  }

  Json spans_of(const TimelineRow& row) {
    Json out = Json::array();
    std::int64_t before = 0;
    for (const TimelineSpan& span : row.spans) {
      if (!drawn(span)) continue;
      const std::int64_t start = units(span.start_s), end = units(span.start_s + span.duration_s);
      out.push_back(start - before);
      out.push_back(kind_of({end - start, known_colour(span.colour), names_.of(span.text),
                             span.limit.empty() ? -1 : names_.of(span.limit), cause_of(span),
                             (span.wait ? 1 : 0) + (span.critical ? 2 : 0)}));
      before = end;
    }
    return out;
  }

  std::int64_t kind_of(const Kind& kind) {
    const auto [it, fresh] = kind_at_.emplace(kind, static_cast<std::int64_t>(kind_at_.size()));
    if (fresh) {
      kinds_.push_back(Json::array());
      for (const std::int64_t value : kind) kinds_.back().push_back(value);
    }
    return it->second;
  }

  const TimelineView& view_;
  double shortest_s_;
  double unit_s_ = std::max(1e-9, (view_.end_s - view_.start_s) / kTimeUnits);
  std::set<std::int64_t> causes_;                              ///< of the longest spans: ids
  std::unordered_map<std::int64_t, const TimelineSpan*> all_;  ///< by id
  std::unordered_map<std::int64_t, std::int64_t> row_of_;
  std::map<Kind, std::int64_t> kind_at_;
  NameTable names_;
  Json kinds_ = Json::array();
};

}  // namespace

std::string html_of(const TimelineView& view) {
  std::string out = view.explore ? "<figure class=\"explore\">\n" : "<figure>\n";
  if (!view.title.empty()) out += "<figcaption>" + escape_markup(view.title) + "</figcaption>\n";
  const bool drawn =
      std::isfinite(view.start_s) && std::isfinite(view.end_s) && view.end_s > view.start_s && !view.rows.empty();
  if (!drawn) return out + "<p class=\"note\">Nothing happened here.</p>\n</figure>\n";
  const UnitScale scale(std::max(std::fabs(view.start_s), std::fabs(view.end_s)), "s", 4);
  const Picture p = draw(view, scale);
  std::string lines;
  const std::string labels = axis(view, scale, p.height, lines);
  out += fmt::format("<div class=\"timeline\" style=\"--fit:{}\">\n<div class=\"names\">{}</div>\n",
                     coordinate(std::min(1.0, kSheetHeight / p.height)), p.names);
  out += fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><div class=\"plot\">\n",
                     escape_markup(view.title.empty() ? "Timeline" : view.title));
  out += fmt::format("<svg role=\"img\" viewBox=\"0 0 10000 {0}\" height=\"{0}\" preserveAspectRatio=\"none\">",
                     coordinate(p.height));
  out += svg_names(view.title, "Timeline: one row per stream, time from left to right; longer spans carry a tool tip.",
                   "Timeline");
  out += p.lanes + lines + p.marks;
  // One path per colour over all of them: on paper, lines of their own for each rectangle are a hundred megabytes.
  for (const auto& [colour, d] : p.hatched) out += fmt::format("<path class=\"over{}\" d=\"{}\"/>\n", colour, d);
  out += "</svg>\n" + labels + "</div></div>\n</div>\n";
  if (!view.legend.empty()) {
    out += "<ul class=\"legend\">";
    for (const auto& [name, index] : view.legend) out += "<li>" + swatch(index) + escape_markup(name) + "</li>";
    out += "</ul>\n";
  }
  if (view.explore) {
    ScriptData data(view);
    out += "<script type=\"application/json\">" + data.write() + "</script>\n";
    if (!data.has_all())
      out +=
          "<p class=\"note\">The page has only the longest spans and what held them up; --trace writes all of "
          "them.</p>\n";
  }
  return out + notes(view, p) + "</figure>\n";
}

}  // namespace busbar::report
