#include "busbar/accuracy/step_fit.h"

#include <gtest/gtest.h>

namespace busbar::accuracy {
namespace {

TEST(StepFit, OneStepMovesTheFactorMostOfTheWay) {
  const KernelFit fit = fit_kernels({{1.1, 1, 1}});
  EXPECT_GT(fit.time, 1.05);
  EXPECT_LT(fit.time, 1.1);
  EXPECT_LT(fit.low, fit.time);
  EXPECT_GT(fit.high, 1.1);
}

TEST(StepFit, ManyStepsSayAsMuchAsTheyAgree) {
  const KernelFit one = fit_kernels({{1.1, 1, 1}}), ten = fit_kernels(std::vector<StepSeen>(10, {1.1, 1, 1}));
  EXPECT_NEAR(ten.time, 1.1, 0.006);
  EXPECT_LT(ten.high / ten.low, one.high / one.low);
}

TEST(StepFit, StepsThatKernelsDoNotBoundSayLittle) {
  const KernelFit kernels = fit_kernels({{1.1, 1, 1}}), others = fit_kernels({{1.1, 1, 0.1}});
  EXPECT_LT(others.time, 1.04);
  EXPECT_GT(others.high / others.low, kernels.high / kernels.low);
}

TEST(StepFit, NoStepLeavesTheCatalogue) { EXPECT_EQ(fit_kernels({}).time, 1); }

TEST(StepFit, OnlyKernelsBecomeLonger) {
  EXPECT_DOUBLE_EQ(step_with_kernels({2, 2, 1}, 1.1), 2.2);
  EXPECT_NEAR(step_with_kernels({2, 2, 1e-12}, 1.1), 2, 1e-9);
}

}  // namespace
}  // namespace busbar::accuracy
