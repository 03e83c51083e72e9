#include "busbar/accuracy/tie_band.h"

#include <gtest/gtest.h>

namespace busbar::accuracy {
namespace {

/// The fastest of two layouts is predicted `percent` slower than the other one, which was measured 10 % slower.
LayoutSweep off_by(const std::string& source, double percent) {
  return {source, {{1 + percent / 100, 1.0}, {1.0, 1.1}}};
}

TEST(TieBand, HoldsTheFastestLayoutOfSourcesThatAreLeftOut) {
  const TieBand band = tie_band_of({off_by("a", 2), off_by("b", 3), {"c", {{1.0, 1.0}, {1.5, 1.4}}}});
  EXPECT_EQ(band.jobs, 3u);
  EXPECT_EQ(band.sources, 3u);
  EXPECT_NEAR(band.percent, 3 * 1.5, 1e-9);  // without b, 2 % are enough; b needs half as much again
  EXPECT_NEAR(band.held_percent, 100, 1e-9);
  EXPECT_EQ(band.tied, 2);  // the fastest is in each tie of two jobs, the third has only its best
}

TEST(TieBand, IsKnownWhereAllButOneSourceNeedNothing) {
  const TieBand band = tie_band_of({off_by("a", 3), {"b", {{1.0, 1.0}, {1.5, 1.4}}}, {"c", {{1.0, 1.0}, {1.5, 1.4}}}});
  EXPECT_NEAR(band.percent, 3 * 2, 1e-9);
  EXPECT_NEAR(band.held_percent, 200 / 3.0, 1e-9);  // nothing told that a would need anything
}

TEST(TieBand, IsNotNeededWhereTheBestWasAsFastAsTheFastest) {
  const LayoutSweep named{"a", {{1.0, 1.02}, {1.2, 1.0}}};  // 2 % slower than the fastest
  LayoutSweep other = named;
  other.source = "b";
  EXPECT_EQ(tie_band_of({named, other}).percent, 0);
  EXPECT_EQ(tie_band_of({named, other}).tied, 1);
}

TEST(TieBand, TakesTheFastestOfALayoutNearIt) {
  const LayoutSweep a{"a", {{1.0, 1.1}, {1.02, 1.01}, {1.1, 1.0}}};  // the second is as fast as the third
  LayoutSweep b = a;
  b.source = "b";
  EXPECT_NEAR(tie_band_of({a, b}).percent, 2, 1e-9);
}

TEST(TieBand, NeedsTwoSources) {
  EXPECT_EQ(tie_band_of({off_by("a", 2), off_by("a", 3)}).percent, 0);
  EXPECT_EQ(tie_band_of({{"a", {{1.0, 1.0}}}, off_by("b", 2)}).sources, 1u);  // one layout is no job
}

}  // namespace
}  // namespace busbar::accuracy
