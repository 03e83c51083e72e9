#include "busbar/step/batch_range.h"

#include <gtest/gtest.h>

#include <cmath>

namespace busbar::step {
namespace {

const std::vector<std::uint32_t> kDoubling{1, 2, 4, 8, 16, 32, 64, 128};

/// m / (m + 9): the efficiency if a fixed cost equals nine batches.
Result<double> rising(std::uint32_t m) { return 100.0 * m / (m + 9.0); }

/// Tries every batch.
BatchRange exhaustive(double low, double high, double (*figure)(std::uint32_t)) {
  BatchRange r;
  for (std::uint32_t m = 1; m <= 128; ++m) {
    if (figure(m) < low || figure(m) > high) continue;
    if (r.nowhere()) r.first = m;
    r.last = m;
  }
  r.reaches_below = r.first == 1 && !r.nowhere();
  r.reaches_above = r.last == 128;
  return r;
}

TEST(BatchRange, EqualsTheResultOfTryingEveryBatch) {
  double (*const curves[])(std::uint32_t) = {[](std::uint32_t m) { return 100.0 * m / (m + 9.0); },
                                             [](std::uint32_t m) { return 90 - 80.0 * m / (m + 20.0); },
                                             [](std::uint32_t) { return 45.0; }};
  for (const auto curve : curves) {
    for (double low = 0; low < 100; low += 3.7) {
      for (const double width : {0.5, 3.0, 10.0, 40.0}) {
        const BatchRange want = exhaustive(low, low + width, curve);
        const auto got =
            find_batch_range(kDoubling, low, low + width, [&](std::uint32_t m) -> Result<double> { return curve(m); });
        ASSERT_TRUE(got.ok());
        ASSERT_EQ(got->nowhere(), want.nowhere()) << low << " + " << width;
        if (want.nowhere()) continue;
        EXPECT_EQ(got->first, want.first) << low << " + " << width;
        EXPECT_EQ(got->last, want.last) << low << " + " << width;
        EXPECT_EQ(got->reaches_below, want.reaches_below);
        EXPECT_EQ(got->reaches_above, want.reaches_above);
      }
    }
  }
}

TEST(BatchRange, AsksForFewBatches) {
  int asked = 0;
  const auto got = find_batch_range(kDoubling, 80, 90, [&](std::uint32_t m) {
    ++asked;
    return rising(m);
  });
  EXPECT_EQ(got->first, 36u);  // 36 / 45
  EXPECT_EQ(got->last, 81u);   // 81 / 90
  EXPECT_LE(asked, 8 + 6 + 7);
}

TEST(BatchRange, PassesErrorsOn) {
  const auto got = find_batch_range(
      kDoubling, 80, 90, [](std::uint32_t m) -> Result<double> { return m > 40 ? invalid("no", {}) : rising(m); });
  EXPECT_FALSE(got.ok());
}

}  // namespace
}  // namespace busbar::step
