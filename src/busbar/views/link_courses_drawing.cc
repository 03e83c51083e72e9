#include "busbar/views/link_courses_drawing.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "busbar/base/quantity.h"
#include "busbar/report/heat_legend.h"
#include "busbar/report/style.h"
#include "busbar/report/text_shape.h"

namespace busbar::views {
namespace {

constexpr double kNames = 150, kRight = 56, kRowHigh = 20, kBarHigh = 14, kTimes = 18;
constexpr std::size_t kCells = 128, kMostRows = 8;

/// The busiest link of its sort.
struct CourseRow {
  const trace::LinkLoad* load = nullptr;
  std::vector<double> busy;  ///< mean of each cell, 0..1
};

std::vector<double> in_cells(const std::vector<double>& course) {
  std::vector<double> out(std::min(kCells, course.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t from = i * course.size() / out.size(), to = (i + 1) * course.size() / out.size();
    for (std::size_t k = from; k < to; ++k) out[i] += course[k] / static_cast<double>(to - from);
  }
  return out;
}

/// By sort, scale-up first.
std::vector<CourseRow> rows_of(const topology::Topology& t, const trace::Timeline& timeline) {
  std::map<std::pair<topology::LinkKind, std::uint16_t>, CourseRow> rows;
  for (const trace::LinkLoad& l : timeline.links) {
    if (l.course.empty() || l.utilisation <= 0) continue;
    const topology::LinkId link{l.link};
    CourseRow& row = rows[{t.link_class(link).kind, t.link_class_index(link)}];
    if (row.load == nullptr || l.utilisation > row.load->utilisation) row.load = &l;
  }
  std::vector<CourseRow> out;
  for (auto& [sort, row] : rows) {
    row.busy = in_cells(row.load->course);
    out.push_back(std::move(row));
  }
  return out;
}

/// Cells of one heat in a row are one rectangle.
void add_row(const CourseRow& row, const std::string& name, double length_s, double end, double y, report::Drawing& d) {
  const double wide = (d.width - kNames - kRight) / static_cast<double>(row.busy.size());
  for (std::size_t from = 0, to = 0; from < row.busy.size(); from = to) {
    const int step = report::heat_step(row.busy[from] / end);
    double sum = 0;
    for (to = from; to < row.busy.size() && report::heat_step(row.busy[to] / end) == step; ++to) sum += row.busy[to];
    const double mean = sum / static_cast<double>(to - from), part_s = length_s / static_cast<double>(row.busy.size());
    report::Shape cell{report::Shape::Kind::kRect, kNames + wide * static_cast<double>(from), y,
                       wide * static_cast<double>(to - from), kBarHigh};
    cell.heat = mean / end;
    cell.text = fmt::format("{}: {} % busy from {} to {}", name, format_number(100 * mean, 2),
                            format_duration(part_s * static_cast<double>(from)),
                            format_duration(part_s * static_cast<double>(to)));
    d.shapes.push_back(std::move(cell));
  }
}

}  // namespace

report::Drawing draw_link_courses(const topology::Topology& t, const trace::Timeline& timeline) {
  report::Drawing d;
  std::vector<CourseRow> rows = rows_of(t, timeline);
  if (rows.empty()) return d;
  const std::size_t all = rows.size();
  std::stable_sort(rows.begin(), rows.end(),
                   [](const CourseRow& a, const CourseRow& b) { return a.load->utilisation > b.load->utilisation; });
  rows.resize(std::min(all, kMostRows));
  double most = 0;
  for (const CourseRow& row : rows) most = std::max(most, *std::max_element(row.busy.begin(), row.busy.end()));
  const double end = report::heat_end(most), length_s = timeline.length.in_s();
  d.title = "How busy links are";
  d.description = "A row per sort of link, busiest first: how busy its busiest link is over the time of the step.";
  d.width = report::kDrawingWidth;
  double y = 4;
  for (const CourseRow& row : rows) {
    const topology::LinkId link{row.load->link};
    const double middle = y + kBarHigh / 2;
    d.shapes.push_back(
        report::text_shape(2, middle, t.link_class(link).part, report::colour::kInk, report::Anchor::kStart));
    add_row(row, t.name(link), length_s, end, y, d);
    d.shapes.push_back(report::text_shape(d.width - kRight + 6, middle,
                                          fmt::format("{} %", format_number(100 * row.load->utilisation, 2)),
                                          report::colour::kInk, report::Anchor::kStart));
    y += kRowHigh;
  }
  for (const double part : {0.0, 0.5, 1.0})
    d.shapes.push_back(report::text_shape(kNames + part * (d.width - kNames - kRight), y + kTimes / 2,
                                          format_duration(part * length_s), report::colour::kMuted,
                                          part == 0   ? report::Anchor::kStart
                                          : part == 1 ? report::Anchor::kEnd
                                                      : report::Anchor::kMiddle));
  d.height = report::add_heat_legend("busy", end, y + kTimes - 12, d);
  d.note = fmt::format("The busiest link of each sort, and its mean over the step. {}The appendix, Machine, draws all.",
                       all > rows.size() ? fmt::format("{} more sorts carry less. ", all - rows.size()) : "");
  return d;
}

}  // namespace busbar::views
