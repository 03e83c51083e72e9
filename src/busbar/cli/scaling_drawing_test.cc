#include "busbar/cli/scaling_drawing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/cli/curve_drawing.h"

namespace busbar {
namespace {

ScalePoint point(std::uint32_t gpus, double efficiency, bool weak = true) {
  ScalePoint p;
  p.weak = weak;
  p.layout.dp = gpus;
  p.step = Duration::ps(1'000'000'000'000);
  p.efficiency = efficiency;
  return p;
}

std::vector<Shape> dots(const Drawing& d) {
  std::vector<Shape> out;
  for (const Shape& s : d.shapes)
    if (s.kind == Shape::Kind::kCircle) out.push_back(s);
  return out;
}

TEST(ScalingDrawing, SizesThatDoubleStandEquallyFarApartAndLossGoesDown) {
  ScaleRun run;
  run.points = {point(8, 1), point(16, 0.9), point(32, 0.5), point(8, 1, false)};
  const Drawing d = draw_scaling(run, true);
  const auto marks = dots(d);
  ASSERT_EQ(marks.size(), 6u);  // two curves
  EXPECT_NEAR(marks[1].x - marks[0].x, marks[2].x - marks[1].x, 1e-9);
  EXPECT_NEAR((marks[2].y - marks[0].y) / (marks[1].y - marks[0].y), 5, 1e-9);  // 50 % compared with 10 % lost
  for (const Shape& s : d.shapes) {
    EXPECT_GE(s.x, 0);
    EXPECT_LE(s.x + (s.kind == Shape::Kind::kLine ? s.w : 0), d.width);
    EXPECT_GE(s.y, 0);
    EXPECT_LE(s.y, d.height);
  }
}

TEST(ScalingDrawing, SizesWithoutAResultAreLeftOutAndOnePointIsNoCurve) {
  ScaleRun run;
  run.points = {point(8, 1), point(16, 0.9)};
  run.points[1].skipped = "too small";
  EXPECT_TRUE(draw_scaling(run, true).shapes.empty());
  EXPECT_TRUE(draw_scaling(run, false).shapes.empty());
}

TEST(CurveDrawing, ManyCurvesHaveTheirNamesAboveThePlotAndAllIsInside) {
  std::vector<Curve> curves;
  for (int i = 0; i < 6; ++i) curves.push_back({"curve", i, {{8, 100.0 + i, ""}, {24, 114, ""}, {64, 3, ""}}});
  const Drawing d = draw_curves(curves, "sequences");
  const auto marks = dots(d);
  ASSERT_EQ(marks.size(), 18u);
  double highest = d.height;
  for (const Shape& s : marks) highest = std::min(highest, s.y);
  int names = 0;
  for (const Shape& s : d.shapes) {
    EXPECT_GE(s.y, 0);
    EXPECT_LE(s.y, d.height);
    if (s.kind != Shape::Kind::kText || s.text != "curve") continue;
    EXPECT_LT(s.y, highest);
    ++names;
  }
  EXPECT_EQ(names, 6);
}

}  // namespace
}  // namespace busbar
