#include "busbar/step/jitter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace busbar::step {
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
  EXPECT_NEAR((StepLaw{1, 0.01, 64}).quantile(0.9), slowest[3600], 0.001);
  EXPECT_NEAR((StepLaw{1, 0.01, 64}).quantile(0.5), slowest[2000], 0.001);
}

// 64 GPUs, 1.5 delays of 20 ms per step of 1 s, a GPU at 1.3 times its time in 3 % of the steps.
TEST(Jitter, QuantilesOfStepsMatchADraw) {
  const StepLaw law{1, 0.005, 64, 1.5, 0.02, 0.03, 1.3};
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  std::poisson_distribution<int> delays(1.5);
  std::bernoulli_distribution slow(0.03);
  std::vector<double> steps;
  double sum = 0;
  for (int i = 0; i < 20'000; ++i) {
    double most = -10;
    for (int g = 0; g < 64; ++g) most = std::max(most, normal(random));
    steps.push_back((slow(random) ? 1.3 : 1) * (1 + 0.005 * most) + 0.02 * delays(random));
    sum += steps.back();
  }
  std::sort(steps.begin(), steps.end());
  EXPECT_NEAR(law.expected(), sum / 20'000, 0.002);
  for (const double p : {0.1, 0.5, 0.9, 0.99}) {
    EXPECT_NEAR(law.quantile(p), steps[static_cast<std::size_t>(20'000 * p)], 0.004) << p;
    EXPECT_NEAR(law.below(law.quantile(p)), p, 1e-6);
  }
}

TEST(Jitter, WithoutDelaysAndSlowGpusTheLawIsThatOfTheSlowest) {
  const StepLaw law{2, 0.01, 512};
  // The maximum of 512 normal variables is below x with probability Phi(x)^512.
  EXPECT_NEAR(law.quantile(0.9), 2 * (1 - 0.01 * normal_quantile(1 - std::pow(0.9, 1.0 / 512))), 1e-8);
  EXPECT_NEAR(law.expected(), 2 * expected_slowest(0.01, 512), 1e-12);
  EXPECT_NEAR((StepLaw{2, 0, 512}).quantile(0.99), 2, 1e-8);
}

TEST(Jitter, AnotherStepVariesAsTheStepOfTheLaw) {
  const StepLaw law{2, 0.01, 512, 1.5, 0.02, 0.03, 2.6};
  EXPECT_EQ(law.mean_of(Duration::us(2'000'000)), duration_from_ps(law.expected() * 1e12));
  const StepLaw half{1,    0.01, 512, 1.5,
                     0.02, 0.03, 1.3};  // a slow GPU takes 1.3 times as long, delays as long as before
  EXPECT_EQ(law.mean_of(Duration::us(1'000'000)), duration_from_ps(half.expected() * 1e12));
  EXPECT_EQ((StepLaw{0, 0, 512}).mean_of(Duration::us(7)), Duration::us(7));
}

}  // namespace
}  // namespace busbar::step
