#include "busbar/cli/curve_drawing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "busbar/report/style.h"

namespace busbar {
namespace {

constexpr double kWidth = 640, kPlot = 222;
constexpr double kLeft = 52, kRight = 20, kTop = 26, kBottom = 44;
constexpr double kLetters = 12, kNameRow = 18;
constexpr std::size_t kNamedInside = 1;  // more curves are named above the plot

class Chart {
 public:
  Chart(const std::vector<Curve>& curves, const std::string& unit) : curves_(curves), unit_(unit) {
    for (const Curve& c : curves_) {
      for (const CurvePoint& p : c.points) {
        top_ = std::max(top_, std::ceil(p.percent / 20) * 20);
        marks_.insert(p.x);
      }
    }
  }
  bool empty() const { return marks_.size() < 2; }
  double height() const { return top() + kPlot + kBottom; }
  std::vector<Shape> draw() {
    axes();
    for (const Curve& c : curves_) curve(c);
    for (std::size_t i = 0; i < curves_.size(); ++i) name(curves_[i], i);
    return std::move(shapes_);
  }

 private:
  double x(std::uint32_t value) const {
    const double first = std::log2(*marks_.begin()), last = std::log2(*marks_.rbegin());
    return kLeft + (std::log2(value) - first) / (last - first) * (kWidth - kLeft - kRight);
  }
  bool named_above() const { return curves_.size() > kNamedInside; }
  double top() const { return kTop + (named_above() ? kNameRow * static_cast<double>(curves_.size()) : 0); }
  double y(double percent) const { return top() + kPlot - percent / top_ * kPlot; }

  void line(double x0, double y0, double x1, double y1, int colour, double thickness) {
    Shape s{.kind = Shape::Kind::kLine, .x = x0, .y = y0, .w = x1 - x0, .h = y1 - y0};
    s.colour = colour;
    s.thickness = thickness;
    shapes_.push_back(std::move(s));
  }
  void words(double x, double y, std::string text, Anchor anchor, int colour) {
    Shape s{.kind = Shape::Kind::kText, .x = x, .y = y};
    s.text = std::move(text);
    s.anchor = anchor;
    s.size = kLetters;
    s.colour = colour;
    shapes_.push_back(std::move(s));
  }
  void axes() {
    for (double percent = 0; percent <= top_ + 1e-9; percent += 20) {
      line(kLeft, y(percent), kWidth - kRight, y(percent), colour::kFrame, percent > 0 ? 0.6 : 1.2);
      words(kLeft - 8, y(percent), fmt::format("{:.0f} %", percent), Anchor::kEnd, colour::kMuted);
    }
    const std::size_t every = 1 + marks_.size() / 10;  // so that labels do not overlap
    std::size_t i = 0;
    for (const std::uint32_t mark : marks_)
      if (i++ % every == 0) words(x(mark), y(0) + 16, std::to_string(mark), Anchor::kMiddle, colour::kMuted);
    words((kLeft + kWidth - kRight) / 2, y(0) + 36, unit_, Anchor::kMiddle, colour::kMuted);
  }
  void curve(const Curve& c) {
    for (std::size_t i = 1; i < c.points.size(); ++i) {
      const CurvePoint &a = c.points[i - 1], &b = c.points[i];
      line(x(a.x), y(a.percent), x(b.x), y(b.percent), c.colour, 2.2);
    }
    for (const CurvePoint& p : c.points) {
      Shape dot{.kind = Shape::Kind::kCircle, .x = x(p.x), .y = y(p.percent), .w = 4};
      dot.colour = c.colour;
      dot.text = p.text;
      shapes_.push_back(std::move(dot));
    }
  }
  /// One curve is named above its beginning; several curves, one line each, above the plot.
  void name(const Curve& c, std::size_t row) {
    if (c.points.empty()) return;
    if (!named_above()) {
      words(x(c.points.front().x), y(c.points.front().percent) - 14, c.name, Anchor::kStart, c.colour);
      return;
    }
    const double at = kNameRow * (static_cast<double>(row) + 0.6);
    line(kLeft, at, kLeft + 22, at, c.colour, 2.2);
    words(kLeft + 30, at, c.name, Anchor::kStart, c.colour);
  }

  const std::vector<Curve>& curves_;
  const std::string& unit_;
  std::set<std::uint32_t> marks_;
  std::vector<Shape> shapes_;
  double top_ = 100;
};

}  // namespace

Drawing draw_curves(const std::vector<Curve>& curves, const std::string& unit) {
  Drawing d;
  Chart chart(curves, unit);
  if (chart.empty()) return d;
  d.width = kWidth;
  d.height = chart.height();
  d.shapes = chart.draw();
  return d;
}

}  // namespace busbar
