#include "busbar/report/internal/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace busbar::report {
namespace {

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> out;
  for (const Tick& t : ticks) out.push_back(t.label);
  return out;
}

TEST(UnitScale, ChoosesOneUnitForAllValues) {
  const UnitScale s(0.0123, "s");
  EXPECT_EQ(s.text(0.0123), "12.3 ms");
  EXPECT_EQ(s.text(0.0004), "0.4 ms");
  EXPECT_EQ(UnitScale(9.31, "s").text(9.31), "9.31 s");
  EXPECT_EQ(UnitScale(80, "GB").text(80), "80.0 GB");
}

TEST(UnitScale, AValueThatRoundsToNothingIsNotShownAsZero) {
  const UnitScale s(9.31, "s");
  EXPECT_EQ(s.text(0.0001), "<0.01 s");
  EXPECT_EQ(s.text(0), "0 s");
}

TEST(NiceTicks, AreRoundAndCoverTheAxis) {
  EXPECT_THAT(labels(nice_ticks(0, 8.45, 5)), testing::ElementsAre("0", "2", "4", "6", "8"));
  EXPECT_THAT(labels(nice_ticks(0, 0.5, 5)), testing::ElementsAre("0", "0.1", "0.2", "0.3", "0.4", "0.5"));
  EXPECT_THAT(labels(nice_ticks(0, 0.02, 4, 1e3)), testing::ElementsAre("0", "5", "10", "15", "20"));
}

TEST(NiceTicks, AnEmptyOrEndlessAxisHasNone) {
  EXPECT_TRUE(nice_ticks(1, 1, 5).empty());
  EXPECT_TRUE(nice_ticks(0, std::numeric_limits<double>::infinity(), 5).empty());
  EXPECT_TRUE(nice_ticks(0, std::nan(""), 5).empty());
}

RC_GTEST_PROP(NiceTicks, StayInsideAndAreNeverTooMany, (std::uint32_t a, std::uint32_t b)) {
  const double low = a * 1e-3, high = low + (b % 100'000 + 1) * 1e-3;
  const auto ticks = nice_ticks(low, high, 7);
  RC_ASSERT(!ticks.empty());
  RC_ASSERT(ticks.size() <= 15u);
  const double slack = (high - low) * 1e-5;
  for (const Tick& t : ticks) RC_ASSERT(t.value >= low - slack && t.value <= high + slack);
}

TEST(Coordinate, IsShortAndAlwaysANumber) {
  EXPECT_EQ(coordinate(12.50), "12.5");
  EXPECT_EQ(coordinate(3), "3");
  EXPECT_EQ(coordinate(-0.0001), "0");
  EXPECT_EQ(coordinate(std::nan("")), "0");
}

}  // namespace
}  // namespace busbar::report
