#include "busbar/report/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "busbar/base/quantity.h"
#include "busbar/report/internal/scale.h"
#include "busbar/report/plain.h"
#include "busbar/report/style.h"

namespace busbar::report {
namespace {

constexpr double kChartWidth = 760, kPlotHeight = 300, kSquarePlot = 460;
constexpr double kLeftEdge = 74, kRightEdge = 40, kBelow = 50, kLegendRow = 22, kChartLetter = 13;
constexpr double kChartLetterWidth = 7.2;  // mean width of a letter of this size

/// "1.20 ms" as "1.2 ms", "10.0 us" as "10 us".
std::string trimmed_number(std::string text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  if (text.find('.') < end)
    for (std::size_t at = end; text[at - 1] == '0' || text[at - 1] == '.';) {
      const bool point = text[--at] == '.';
      text.erase(at, 1);
      if (point) break;
    }
  return text;
}

std::string axis_label(AxisUnit unit, double value) {
  switch (unit) {
    case AxisUnit::kBytes:
      return format_binary_size(static_cast<std::uint64_t>(std::llround(value)));
    case AxisUnit::kSeconds:
      return value == 0 ? "0" : trimmed_number(format_duration(value));
    case AxisUnit::kPercent:
      return fmt::format("{:.6g} %", value);
    case AxisUnit::kNumber:
    case AxisUnit::kCount:
      break;
  }
  return fmt::format("{:.7g}", value);
}

/// Maps values of one axis to [0, 1].
class AxisScale {
 public:
  AxisScale(const ChartAxis& axis, double low, double high) : axis_(axis), low_(low), high_(high) {
    if (axis.low < axis.high) {
      low_ = axis.low;
      high_ = axis.high;
    } else if (axis.log) {
      if (!(high_ > low_)) low_ /= 2, high_ *= 2;
    } else {
      low_ = std::min(low_, 0.0);
      high_ = high_ > 0 ? nice_ceiling(high_) : low_ < 0 ? 0 : 1;
    }
  }
  bool has(double v) const { return std::isfinite(v) && (!axis_.log || v > 0); }
  double at(double v) const {
    const double share =
        axis_.log ? (std::log(v) - std::log(low_)) / (std::log(high_) - std::log(low_)) : (v - low_) / (high_ - low_);
    return std::clamp(share, 0.0, 1.0);
  }
  bool shows(double v) const { return has(v) && v >= low_ * (1 - 1e-9) && v <= high_ * (1 + 1e-9); }
  std::vector<Tick> ticks(int wanted) const {
    std::vector<Tick> out;
    if (!axis_.log) {
      for (Tick t : nice_ticks(low_, high_, wanted)) out.push_back({t.value, axis_label(axis_.unit, t.value)});
      return out;
    }
    const double base = axis_.unit == AxisUnit::kBytes || axis_.unit == AxisUnit::kCount ? 2 : 10;
    const double first = std::ceil(std::log(low_) / std::log(base) - 1e-9);
    const double last = std::floor(std::log(high_) / std::log(base) + 1e-9);
    if (last - first < 1) {
      for (const double v : {low_, high_}) out.push_back({v, axis_label(axis_.unit, v)});
      return out;
    }
    const double every = std::max(1.0, std::ceil((last - first + 1) / (wanted + 1)));
    for (double e = first; e <= last; e += every) {
      const double v = std::pow(base, e);
      out.push_back({v, axis_label(axis_.unit, v)});
    }
    return out;
  }

 private:
  const ChartAxis& axis_;
  double low_, high_;
};

struct DataRange {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void add(double v, bool log) {
    if (!std::isfinite(v) || (log && v <= 0)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  }
};

class ChartPainter {
 public:
  ChartPainter(const Chart& chart, const DataRange& x, const DataRange& y)
      : chart_(chart), x_(chart.x, x.low, x.high), y_(chart.y, y.low, y.high) {}

  Drawing draw() {
    Drawing d;
    d.title = chart_.title;
    d.description = chart_.description;
    d.note = chart_.note;
    legend();
    axes();
    for (const ChartBand& b : chart_.bands) band(b);
    for (const ChartSeries& s : chart_.series) series(s);
    d.width = kChartWidth;
    d.height = top_ + height() + kBelow;
    d.shapes = std::move(shapes_);
    return d;
  }

 private:
  double height() const { return chart_.square ? kSquarePlot : kPlotHeight; }
  double right() const { return chart_.square ? kLeftEdge + kSquarePlot : kChartWidth - kRightEdge; }
  double x(double v) const { return kLeftEdge + x_.at(v) * (right() - kLeftEdge); }
  double y(double v) const { return top_ + (1 - y_.at(v)) * height(); }

  void line(double x0, double y0, double x1, double y1, int colour, double thickness, bool dashed = false) {
    Shape s{.kind = Shape::Kind::kLine, .x = x0, .y = y0, .w = x1 - x0, .h = y1 - y0};
    s.colour = colour;
    s.thickness = thickness;
    s.dashed = dashed;
    shapes_.push_back(std::move(s));
  }
  void words(double x, double y, std::string text, Anchor anchor, int colour) {
    Shape s{.kind = Shape::Kind::kText, .x = x, .y = y};
    s.text = std::move(text);
    s.anchor = anchor;
    s.size = kChartLetter;
    s.colour = colour;
    shapes_.push_back(std::move(s));
  }
  void dot(double x, double y, double radius, const ChartSeries& s, const std::string& text) {
    Shape c{.kind = Shape::Kind::kCircle, .x = x, .y = y, .w = radius};
    c.colour = s.colour;
    c.text = text;
    shapes_.push_back(std::move(c));
  }

  static double thickness_of(const ChartSeries& s) { return s.thickness > 0 ? s.thickness : s.dashed ? 1.8 : 2.4; }

  /// Names from left to right, in as many rows as they need.
  void legend() {
    double at = kLeftEdge, row = kLegendRow / 2;
    const auto place = [&](const std::string& name) {
      const double need = 34 + kChartLetterWidth * static_cast<double>(display_width(name)) + 18;
      if (at > kLeftEdge && at + need > kChartWidth) at = kLeftEdge, row += kLegendRow;
      const double here = at;
      at += need;
      return here;
    };
    bool any = false;
    for (const ChartSeries& s : chart_.series) {
      if (s.name.empty()) continue;
      const double here = place(s.name);
      if (s.line) line(here, row, here + 26, row, s.colour, thickness_of(s), s.dashed);
      if (s.dots && !s.line) dot(here + 13, row, 3.6, s, "");
      words(here + 34, row, s.name, Anchor::kStart, colour::kInk);
      any = true;
    }
    for (const ChartBand& b : chart_.bands) {
      if (b.name.empty()) continue;
      const double here = place(b.name);
      Shape box{.kind = Shape::Kind::kRect, .x = here, .y = row - 6, .w = 26, .h = 12};
      box.colour = b.colour;
      box.opacity = 0.25;
      shapes_.push_back(std::move(box));
      words(here + 34, row, b.name, Anchor::kStart, colour::kInk);
      any = true;
    }
    top_ = (any ? row + kLegendRow / 2 : 0) + (chart_.y.title.empty() ? 14 : 32);
  }

  void axes() {
    const double bottom = top_ + height();
    for (const Tick& t : y_.ticks(chart_.square ? 7 : 5)) {
      line(kLeftEdge, y(t.value), right(), y(t.value), colour::kFrame, 1);
      words(kLeftEdge - 8, y(t.value), t.label, Anchor::kEnd, colour::kMuted);
    }
    for (const Tick& t : x_.ticks(chart_.square || chart_.x.unit == AxisUnit::kSeconds ? 6 : 9)) {
      line(x(t.value), bottom, x(t.value), bottom + 5, colour::kMuted, 1);
      words(x(t.value), bottom + 17, t.label, Anchor::kMiddle, colour::kMuted);
    }
    line(kLeftEdge, bottom, right(), bottom, colour::kMuted, 1.2);
    words((kLeftEdge + right()) / 2, bottom + 38, chart_.x.title, Anchor::kMiddle, colour::kMuted);
    if (!chart_.y.title.empty()) words(8, top_ - 18, chart_.y.title, Anchor::kStart, colour::kMuted);
  }

  void band(const ChartBand& b) {
    Shape s{.kind = Shape::Kind::kPolygon};
    s.colour = b.colour;
    s.opacity = 0.2;
    const auto usable = [&](const ChartRange& r) { return x_.has(r.x) && y_.has(r.low) && y_.has(r.high); };
    for (const ChartRange& r : b.ranges)
      if (usable(r)) s.points.emplace_back(x(r.x), y(r.high));
    for (auto r = b.ranges.rbegin(); r != b.ranges.rend(); ++r)
      if (usable(*r)) s.points.emplace_back(x(r->x), y(r->low));
    if (s.points.size() > 2) shapes_.push_back(std::move(s));
  }

  void series(const ChartSeries& s) {
    const ChartPoint* before = nullptr;
    for (const ChartPoint& p : s.points) {
      if (!x_.has(p.x) || !y_.has(p.y)) continue;
      if (s.line && before != nullptr && y_.shows(before->y) && y_.shows(p.y))
        line(x(before->x), y(before->y), x(p.x), y(p.y), s.colour, thickness_of(s), s.dashed);
      before = &p;
    }
    if (!s.dots) return;
    for (const ChartPoint& p : s.points)
      if (x_.shows(p.x) && y_.shows(p.y)) dot(x(p.x), y(p.y), s.line ? 3.6 : 4.2, s, p.text);
  }

  const Chart& chart_;
  AxisScale x_, y_;
  double top_ = 0;
  std::vector<Shape> shapes_;
};

}  // namespace

Drawing draw_chart(const Chart& chart) {
  DataRange x, y;
  std::size_t points = 0;
  for (const ChartSeries& s : chart.series) {
    for (const ChartPoint& p : s.points) {
      x.add(p.x, chart.x.log);
      y.add(p.y, chart.y.log);
      ++points;
    }
  }
  for (const ChartBand& b : chart.bands) {
    for (const ChartRange& r : b.ranges) {
      x.add(r.x, chart.x.log);
      y.add(r.low, chart.y.log);
      y.add(r.high, chart.y.log);
    }
  }
  if (points < 2 || !(x.high >= x.low) || !(y.high >= y.low)) return {};
  return ChartPainter(chart, x, y).draw();
}

}  // namespace busbar::report
