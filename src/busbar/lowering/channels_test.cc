#include "busbar/lowering/channels.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace busbar {
namespace {

std::vector<std::uint32_t> starts_of(std::vector<std::uint32_t> extents, std::vector<double> rates) {
  return torus_starts(extents, rates);
}

TEST(TorusStarts, EachDimensionOnceWhereAllAreAlike) {
  EXPECT_TRUE(starts_of({4, 4, 4}, {1, 1, 1}).empty());
  EXPECT_TRUE(starts_of({16, 16}, {1, 1}).empty());
  EXPECT_TRUE(starts_of({8}, {1}).empty());
}

// 4 x 4 x 4 with the third dimension at half the rate: of (x, y, z) three, two and one channels of six. Loads of the
// first, second and third dimension of a channel are 3/4, 3/16 and 3/64 of its bytes: z carries (1 x 3/4 + 2 x 3/16 +
// 3 x 3/64) / 6 of the buffer, where each dimension once gives it (3/4 + 3/16 + 3/64) / 3.
TEST(TorusStarts, ASlowDimensionIsTheFirstOfFewChannels) {
  const auto starts = starts_of({4, 4, 4}, {1, 1, 0.5});
  EXPECT_EQ(std::count(starts.begin(), starts.end(), 0), 3);
  EXPECT_EQ(std::count(starts.begin(), starts.end(), 1), 2);
  EXPECT_EQ(std::count(starts.begin(), starts.end(), 2), 1);
}

TEST(TorusStarts, AreLeftAloneWhereADimensionHasNoLinks) { EXPECT_TRUE(starts_of({4, 4}, {1, 0}).empty()); }

}  // namespace
}  // namespace busbar
