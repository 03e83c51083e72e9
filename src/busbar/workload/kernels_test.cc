#include "busbar/workload/kernels.h"

#include <gtest/gtest.h>

#include "busbar/workload/layer_times.h"
#include "busbar/workload/test_models.h"

namespace busbar {
namespace {

TEST(Kernels, CurvesAreStraightBetweenPointsAndFlatOutside) {
  const std::vector<EfficiencyPoint> curve = {{10, 0.5}, {20, 0.7}};
  EXPECT_DOUBLE_EQ(share_at(curve, 1), 0.5);
  EXPECT_DOUBLE_EQ(share_at(curve, 15), 0.6);
  EXPECT_DOUBLE_EQ(share_at(curve, 100), 0.7);
}

TEST(Kernels, ALargeGemmRunsAtItsShareOfThePeak) {
  KernelTable k = flat_kernels();
  EXPECT_NEAR(k.gemm_time(8192, 8192, 8192).in_us(), 2e6 * 8192.0 * 8192 * 8192 / 0.7e15, 0.01);
  k.sustained_share = 0.5;
  EXPECT_NEAR(k.gemm_time(8192, 8192, 8192).in_us(), 2e6 * 8192.0 * 8192 * 8192 / 0.35e15, 0.01);
}

TEST(Kernels, AThinGemmIsBoundByMemory) {
  const KernelTable k = flat_kernels();
  EXPECT_EQ(k.gemm_time(1, 8192, 8192), k.memory_time(2.0 * (8192 + 8192.0 * 8192 + 8192)));
}

TEST(Kernels, AMeasuredShapeGoesBeforeTheCurve) {
  KernelTable k = flat_kernels();
  k.gemm_shapes = {{8192, 1024, 4096, 0.35}};
  EXPECT_NEAR(k.gemm_time(4096, 8192, 1024).in_us() / flat_kernels().gemm_time(4096, 8192, 1024).in_us(), 2, 1e-6);
  EXPECT_EQ(k.gemm_time(2048, 8192, 1024), flat_kernels().gemm_time(2048, 8192, 1024));  // fewer rows than measured
}

// Backward has two GEMMs for each of the forward's: with flat shares, twice the time.
TEST(LayerTimes, MatrixWorkOfBackwardIsTwiceForward) {
  KernelTable k = flat_kernels();
  k.memory_bytes_per_s = 1e30;
  const StepTimes t = step_times(llama3_70b(), main_layout(1, 1), k);
  EXPECT_NEAR(t.mlp.backward().in_us() / t.mlp.forward().in_us(), 2, 1e-6);
}

TEST(LayerTimes, SelectiveRecomputationAddsTheAttentionCoreOnce) {
  LayoutSpec l = main_layout(1, 1);
  const KernelTable k = flat_kernels();
  const Duration with = step_times(llama3_70b(), l, k).attention.backward();
  l.recompute = Recompute::kNone;
  const Duration without = step_times(llama3_70b(), l, k).attention.backward();
  EXPECT_EQ(with - without, k.attention_time(8, 4096, 128, 1, false));
}

TEST(LayerTimes, LaunchesShowOnlyWhereKernelsAreShort) {
  KernelTable slow = flat_kernels();
  slow.launch = Duration::us(4);
  const StepTimes large = step_times(llama3_70b(), main_layout(1, 1), slow);
  EXPECT_EQ(large.mlp.in, step_times(llama3_70b(), main_layout(1, 1), flat_kernels()).mlp.in);
  const StepTimes small = step_times(small_model(), small_layout(8, 1, 1, 1, 1), slow);
  EXPECT_EQ(small.mlp.in + small.mlp.middle + small.mlp.out, Duration::us(32));  // 8 kernels
}

}  // namespace
}  // namespace busbar
