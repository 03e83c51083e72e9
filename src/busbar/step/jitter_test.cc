#include "busbar/step/jitter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace busbar {
namespace {

TEST(Jitter, QuantilesEqualTheTables) {
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-9);
  EXPECT_NEAR(normal_quantile(0.975), 1.959964, 1e-5);
  EXPECT_NEAR(normal_quantile(1e-6), -4.753424, 1e-5);
}

// Exact values for n = 2, 10, 100, 1000. Source: Tippett 1925 (Biometrika 17), table of extremes.
TEST(Jitter, ExpectedMaximumEqualsTheTables) {
  EXPECT_EQ(expected_maximum(1), 0);
  EXPECT_NEAR(expected_maximum(2), 0.56419, 0.03);
  EXPECT_NEAR(expected_maximum(10), 1.53875, 0.02);
  EXPECT_NEAR(expected_maximum(100), 2.50759, 0.01);
  EXPECT_NEAR(expected_maximum(1000), 3.24144, 0.02);
}

TEST(Jitter, QuantilesOfTheSlowestMatchADraw) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> slowest;
  for (int i = 0; i < 4000; ++i) {
    double most = -10;
    for (int g = 0; g < 64; ++g) most = std::max(most, normal(random));
    slowest.push_back(1 + 0.01 * most);
  }
  std::sort(slowest.begin(), slowest.end());
  EXPECT_NEAR(slowest_quantile(0.01, 64, 0.9), slowest[3600], 0.001);
  EXPECT_NEAR(slowest_quantile(0.01, 64, 0.5), slowest[2000], 0.001);
}

}  // namespace
}  // namespace busbar
