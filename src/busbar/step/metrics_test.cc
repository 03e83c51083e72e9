#include "busbar/step/metrics.h"

#include <gtest/gtest.h>

#include "busbar/workload/test_models.h"

namespace busbar::step {
namespace {

constexpr double kPeak = 1e15;

double flops_of(const workload::LayoutSpec& l) {
  const StepMetrics m = step_metrics(workload::small_model(), l, Duration::ps(1'000'000'000'000), kPeak, 1);
  return m.mfu * kPeak / (static_cast<double>(l.batch.global) * l.batch.seq);  // per token: a step takes one second
}

TEST(StepMetrics, FrozenWeightsHaveTwoThirdsOfTheProducts) {
  workload::LayoutSpec l = workload::small_layout(1, 1, 1, 1, 4);
  const workload::ModelFlops all = workload::flops_per_token(workload::small_model(), l.batch.seq);
  const double scores = all.full_attention - all.causal;
  EXPECT_NEAR(flops_of(l), all.causal, 1e-9 * all.causal);
  l.adapters.rank = 8;
  EXPECT_NEAR(flops_of(l), (all.causal - scores) * 2 / 3 + scores, 1e-9 * all.causal);
}

TEST(StepMetrics, DocumentsCountTheirOwnScores) {
  workload::LayoutSpec l = workload::small_layout(1, 1, 1, 1, 4);
  l.batch.documents = {256};
  const double of_256 = workload::flops_per_token(workload::small_model(), 256).causal;
  EXPECT_NEAR(flops_of(l), of_256, 1e-9 * of_256);
}

}  // namespace
}  // namespace busbar::step
