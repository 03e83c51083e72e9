#include "busbar/cli/scaling_drawing.h"

#include <fmt/core.h>

#include <cmath>
#include <vector>

#include "busbar/base/quantity.h"
#include "busbar/report/style.h"

namespace busbar {
namespace {

constexpr double kWidth = 640, kHeight = 300;
constexpr double kLeft = 52, kRight = 20, kTop = 34, kBottom = 44;
constexpr double kLetters = 12;

struct Curve {
  const char* name;
  int colour;
  double (*percent)(const ScalePoint&);
};
constexpr Curve kCurves[] = {
    {"efficiency", colour::kCompute, [](const ScalePoint& p) { return 100 * p.efficiency; }},
    {"exposed communication", colour::kTp, [](const ScalePoint& p) { return p.exposed_percent(); }}};

class Chart {
 public:
  explicit Chart(std::vector<const ScalePoint*> points) : points_(std::move(points)) {
    for (const ScalePoint* p : points_)
      for (const Curve& c : kCurves) top_ = std::max(top_, std::ceil(c.percent(*p) / 20) * 20);
    first_ = std::log2(points_.front()->layout.ranks());
    last_ = std::log2(points_.back()->layout.ranks());
  }
  std::vector<Shape> draw() {
    axes();
    for (const Curve& c : kCurves) curve(c);
    return std::move(shapes_);
  }

 private:
  double x(const ScalePoint& p) const {
    const double share = (std::log2(p.layout.ranks()) - first_) / (last_ - first_);
    return kLeft + share * (kWidth - kLeft - kRight);
  }
  double y(double percent) const { return kHeight - kBottom - percent / top_ * (kHeight - kTop - kBottom); }

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
    const std::size_t every = 1 + points_.size() / 10;  // labels that do not run into each other
    for (std::size_t i = 0; i < points_.size(); i += every)
      words(x(*points_[i]), kHeight - kBottom + 16, std::to_string(points_[i]->layout.ranks()), Anchor::kMiddle,
            colour::kMuted);
    words((kLeft + kWidth - kRight) / 2, kHeight - 8, "GPUs", Anchor::kMiddle, colour::kMuted);
  }
  void curve(const Curve& c) {
    for (std::size_t i = 1; i < points_.size(); ++i)
      line(x(*points_[i - 1]), y(c.percent(*points_[i - 1])), x(*points_[i]), y(c.percent(*points_[i])), c.colour, 2.2);
    for (const ScalePoint* p : points_) {
      Shape dot{.kind = Shape::Kind::kCircle, .x = x(*p), .y = y(c.percent(*p)), .w = 4};
      dot.colour = c.colour;
      dot.text = fmt::format("{} GPUs: {} {:.1f} %, {} a step", p->layout.ranks(), c.name, c.percent(*p),
                             format_duration(p->step.in_s()));
      shapes_.push_back(std::move(dot));
    }
    words(x(*points_.front()), y(c.percent(*points_.front())) - 14, c.name, Anchor::kStart, c.colour);
  }

  std::vector<const ScalePoint*> points_;
  std::vector<Shape> shapes_;
  double top_ = 100, first_ = 0, last_ = 1;
};

}  // namespace

Drawing draw_scaling(const ScaleRun& run, bool weak) {
  std::vector<const ScalePoint*> points;
  for (const ScalePoint& p : run.points)
    if (p.weak == weak && p.skipped.empty()) points.push_back(&p);
  Drawing d;
  if (points.size() < 2) return d;
  d.title = weak ? "Weak scaling: the batch grows with the machine" : "Strong scaling: the batch stays";
  d.description =
      fmt::format("Efficiency falls from 100 % at {} GPUs to {:.1f} % at {}.", points.front()->layout.ranks(),
                  100 * points.back()->efficiency, points.back()->layout.ranks());
  d.width = kWidth;
  d.height = kHeight;
  d.shapes = Chart(std::move(points)).draw();
  const std::uint32_t bend = run.stops_hiding(weak);
  d.note = "Tokens per second and GPU against the smallest size; exposed: of the step. ";
  d.note += bend == 0 ? "Communication of data parallelism hides behind compute at every size."
                      : fmt::format("From {} GPUs on communication of data parallelism no longer hides.", bend);
  return d;
}

}  // namespace busbar
