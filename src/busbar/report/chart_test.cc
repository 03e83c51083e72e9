#include "busbar/report/chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace busbar::report {
namespace {

Chart doubling() {
  Chart c;
  c.x = {"size", AxisUnit::kBytes, true};
  c.y = {"GB/s"};
  c.series.push_back({"ring", 0, {{1024, 1, "1 KiB"}, {2048, 2, "2 KiB"}, {8192, 4, "8 KiB"}}});
  return c;
}

std::vector<Shape> circles(const Drawing& d) {
  std::vector<Shape> out;
  for (const Shape& s : d.shapes)
    if (s.kind == Shape::Kind::kCircle && !s.text.empty()) out.push_back(s);
  return out;
}

TEST(Chart, EqualRatiosAreEqualDistancesOnALogarithmicAxis) {
  const auto dots = circles(draw_chart(doubling()));
  ASSERT_EQ(dots.size(), 3u);
  EXPECT_NEAR(dots[2].x - dots[1].x, 2 * (dots[1].x - dots[0].x), 1e-9);
  EXPECT_NEAR(dots[0].y - dots[1].y, (dots[1].y - dots[2].y) / 2, 1e-9);  // linear upwards
}

TEST(Chart, EverythingStaysInsideThePicture) {
  Chart c = doubling();
  c.bands.push_back({"band", 1, {{1024, 0.5, 2}, {8192, 3, 9}}});
  const Drawing d = draw_chart(c);
  for (const Shape& s : d.shapes) {
    EXPECT_GE(std::min(s.x, s.x + s.w), 0);
    EXPECT_LE(s.x, d.width);
    EXPECT_LE(s.y + s.h, d.height);
    for (const auto& [x, y] : s.points) EXPECT_TRUE(x >= 0 && x <= d.width && y >= 0 && y <= d.height);
  }
}

TEST(Chart, SeriesAndBandsAreNamedAndTicksSayTheirUnit) {
  Chart c = doubling();
  c.bands.push_back({"band", 1, {{1024, 0.5, 2}, {8192, 3, 9}}});
  const Drawing d = draw_chart(c);
  for (const char* word : {"ring", "band", "1 KiB", "8 KiB", "size", "GB/s"})
    EXPECT_TRUE(std::any_of(d.shapes.begin(), d.shapes.end(), [&](const Shape& s) { return s.text == word; })) << word;
}

TEST(Chart, LabelsOfTimesHaveNoZerosAtTheirEnd) {
  Chart c;
  c.x = {"time", AxisUnit::kSeconds};
  c.y = {"flows", AxisUnit::kPercent};
  c.series.push_back({"", 0, {{0, 0}, {1.2e-3, 100}}});
  const Drawing d = draw_chart(c);
  for (const char* word : {"200 us", "1 ms", "1.2 ms", "20 %", "100 %"})
    EXPECT_TRUE(std::any_of(d.shapes.begin(), d.shapes.end(), [&](const Shape& s) { return s.text == word; })) << word;
}

TEST(Chart, PointsThatAnAxisCannotShowAreLeftOut) {
  Chart c = doubling();
  c.series.front().points.push_back({0, 3, "zero"});
  c.series.front().points.push_back({4096, std::numeric_limits<double>::quiet_NaN(), "nan"});
  c.y.high = 3;  // the last of the three points lies above
  EXPECT_EQ(circles(draw_chart(c)).size(), 2u);
  EXPECT_TRUE(draw_chart(Chart{}).shapes.empty());
}

}  // namespace
}  // namespace busbar::report
