#include "busbar/runtime/host_rates.h"

#include <gtest/gtest.h>

namespace busbar::runtime {
namespace {

TEST(HostRates, AreMeasuredForEachSizeUpToTheLargest) {
  const HostRates r = measure_host(2, 100'000);
  ASSERT_EQ(r.points.size(), 4u);  // 4, 16, 64, 256 KiB
  EXPECT_GT(r.hop_s, 1e-9);
  EXPECT_GT(r.points.front().copy_bytes_per_s, 1e6);
  EXPECT_GT(r.points.front().add_bytes_per_s, 1e6);
}

TEST(HostRates, AreInProportionBetweenTwoSizes) {
  const HostRates r{.points = {{1 << 10, 10, 6}, {4 << 10, 20, 8}}};
  EXPECT_DOUBLE_EQ(r.at(2 << 10).copy_bytes_per_s, 15);
  EXPECT_DOUBLE_EQ(r.at(2 << 10).add_bytes_per_s, 7);
  EXPECT_DOUBLE_EQ(r.at(1).copy_bytes_per_s, 10);
  EXPECT_DOUBLE_EQ(r.at(1 << 20).copy_bytes_per_s, 20);
}

}  // namespace
}  // namespace busbar::runtime
