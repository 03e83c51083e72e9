#include "busbar/views/scaling_drawing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/views/curve_drawing.h"
#include "busbar/views/scale_document.h"

namespace busbar::views {
namespace {

step::ScalePoint point(std::uint32_t gpus, double efficiency, bool weak = true) {
  step::ScalePoint p;
  p.weak = weak;
  p.layout.dp = gpus;
  p.step = Duration::ps(1'000'000'000'000);
  p.efficiency = efficiency;
  return p;
}

std::vector<report::Shape> dots(const report::Drawing& d) {
  std::vector<report::Shape> out;
  for (const report::Shape& s : d.shapes)
    if (s.kind == report::Shape::Kind::kCircle) out.push_back(s);
  return out;
}

TEST(ScalingDrawing, SizesThatDoubleStandEquallyFarApartAndLossGoesDown) {
  step::ScaleRun run;
  run.points = {point(8, 1), point(16, 0.9), point(32, 0.5), point(8, 1, false)};
  const report::Drawing d = draw_scaling(run, true);
  const auto marks = dots(d);
  ASSERT_EQ(marks.size(), 6u);  // two curves
  EXPECT_NEAR(marks[1].x - marks[0].x, marks[2].x - marks[1].x, 1e-9);
  EXPECT_NEAR((marks[2].y - marks[0].y) / (marks[1].y - marks[0].y), 5, 1e-9);  // 50 % compared with 10 % lost
  for (const report::Shape& s : d.shapes) {
    EXPECT_GE(s.x, 0);
    EXPECT_LE(s.x + (s.kind == report::Shape::Kind::kLine ? s.w : 0), d.width);
    EXPECT_GE(s.y, 0);
    EXPECT_LE(s.y, d.height);
  }
}

TEST(ScalingDrawing, SizesWithoutAResultAreLeftOutAndOnePointIsNoCurve) {
  step::ScaleRun run;
  run.points = {point(8, 1), point(16, 0.9)};
  run.points[1].skipped = "too small";
  EXPECT_TRUE(draw_scaling(run, true).shapes.empty());
  EXPECT_TRUE(draw_scaling(run, false).shapes.empty());
}

step::ScaleRun run_at(const std::string& name, std::vector<std::pair<std::uint32_t, double>> tokens_per_s_per_gpu) {
  step::ScaleRun run;
  run.cluster = name;
  for (const auto& [gpus, each] : tokens_per_s_per_gpu) {
    run.points.push_back(point(gpus, each / tokens_per_s_per_gpu.front().second));
    run.points.back().tokens_per_s_per_gpu = each;
    run.points.back().layout.batch.seq = 1;
    run.points.back().layout.batch.global = static_cast<std::uint32_t>(each * gpus);  // in a step of one second
    run.points.back().tiers = gpus > 8 ? 1 : 0;
  }
  return run;
}

TEST(Scaling, TheCrossingIsTheLeastSizeThatIsAtLeastAsFast) {
  const step::ScaleRun fast = run_at("fast", {{1, 100}, {2, 100}, {4, 90}, {8, 90}});
  const step::ScaleRun slow = run_at("slow", {{1, 60}, {2, 55}, {4, 50}, {8, 45}});
  const report::Table t = crossings(fast, slow, true);
  ASSERT_EQ(t.rows.size(), 4u);
  EXPECT_EQ(t.rows[0][2], "2");     // 110 >= 100
  EXPECT_EQ(t.rows[1][2], "4");     // 200 >= 200
  EXPECT_EQ(t.rows[2][2], "8");     // 360 >= 360
  EXPECT_EQ(t.rows[3][2], "more");  // 720
}

TEST(Scaling, IdleGpusAreTheLossTimesTheMachine) {
  EXPECT_NEAR(point(16384, 0.99).idle_gpus(), 163.84, 1e-6);  // 1 % of 16,384
}

TEST(Scaling, ANewTierAndARiseAreExplained) {
  step::ScaleRun run = run_at("machine", {{8, 100}, {16, 80}, {32, 90}});
  run.points[1].breakdown.exposed_dp = Duration::ps(200'000'000'000);
  run.points[2].breakdown.exposed_dp = Duration::ps(100'000'000'000);
  const std::string text = remarks_on(run, true);
  EXPECT_NE(text.find("16 GPUs need one tier of switches: -20.0 points"), std::string::npos) << text;
  EXPECT_NE(text.find("From 16 to 32 GPUs the efficiency rises: exposed_dp falls from 20.0 to 10.0 %"),
            std::string::npos)
      << text;
  EXPECT_EQ(remarks_on(run_at("machine", {{2, 100}, {4, 99}}), true), "");
}

TEST(Scaling, WhatTheSmallestSizeExposesIsNotCalledHidden) {
  step::ScaleRun run = run_at("machine", {{8, 100}, {16, 99}});
  EXPECT_EQ(hiding_words(run, true), "At every size, compute hides the communication of data parallelism.");
  run.points[0].breakdown.exposed_dp = run.points[1].breakdown.exposed_dp = Duration::ps(40'000'000'000);
  EXPECT_EQ(hiding_words(run, true).find("At 8 GPUs, 4.0 % of the step is exposed"), 0u);
  run.points[1].breakdown.exposed_dp = Duration::ps(60'000'000'000);
  EXPECT_EQ(hiding_words(run, true).find("From 16 GPUs on, more communication"), 0u);
}

TEST(Scaling, ARiseHasACause) {
  const step::ScaleRun run = run_at("machine", {{8, 100}, {16, 80}, {32, 90}});
  step::ScalePoint a = run.points[1], b = run.points[2];
  EXPECT_TRUE(step::rises(a, b));
  EXPECT_FALSE(step::rises(b, a));
  EXPECT_EQ(step::cause_of_rise(a, b, 72, nullptr), "");
  a.data_algorithm = "ring";
  b.data_algorithm = "tree";
  EXPECT_NE(step::cause_of_rise(a, b, 72, nullptr).find("runs as tree instead of ring"), std::string::npos);
  a.in_last = 8;
  b.in_last = 16;
  EXPECT_EQ(step::cause_of_rise(a, b, 72, nullptr).find("last server"), std::string::npos)
      << "both sizes are one server";
  EXPECT_NE(step::cause_of_rise(a, b, 12, nullptr).find("16 instead of 8 of the 12 GPUs"), std::string::npos);
  const std::pair flat(run.points[0], run.points[0]), alike(a, b);
  EXPECT_NE(step::cause_of_rise(a, b, 12, &flat).find("by their hash, routes share cables less at 32 GPUs"),
            std::string::npos);
  EXPECT_NE(step::cause_of_rise(a, b, 12, &alike).find("16 instead of 8"), std::string::npos)
      << "spraying changes nothing";
}

TEST(Scaling, ANewTierIsMarked) {
  int dashed = 0;
  for (const report::Shape& s : draw_scalings({run_at("a", {{8, 100}, {16, 90}, {32, 80}})}, true).shapes)
    dashed += s.dashed;
  EXPECT_EQ(dashed, 2) << "one line and its name in the legend";
}

TEST(Scaling, AllMachinesAreInOneChartWithTheIdeal) {
  const report::Drawing d =
      draw_scalings({run_at("a", {{8, 100}, {16, 90}}), run_at("b", {{8, 200}, {16, 150}})}, true);
  EXPECT_EQ(dots(d).size(), 8u);  // two machines, and the ideal at each of their sizes
}

TEST(CurveDrawing, ManyCurvesHaveTheirNamesAboveThePlotAndAllIsInside) {
  std::vector<Curve> curves;
  for (int i = 0; i < 6; ++i) curves.push_back({"curve", i, {{8, 100.0 + i, ""}, {24, 114, ""}, {64, 3, ""}}});
  const report::Drawing d = draw_curves(curves, "sequences");
  const auto marks = dots(d);
  ASSERT_EQ(marks.size(), 18u);
  double highest = d.height;
  for (const report::Shape& s : marks) highest = std::min(highest, s.y);
  int names = 0;
  for (const report::Shape& s : d.shapes) {
    EXPECT_GE(s.y, 0);
    EXPECT_LE(s.y, d.height);
    if (s.kind != report::Shape::Kind::kText || s.text != "curve") continue;
    EXPECT_LT(s.y, highest);
    ++names;
  }
  EXPECT_EQ(names, 6);
}

}  // namespace
}  // namespace busbar::views
