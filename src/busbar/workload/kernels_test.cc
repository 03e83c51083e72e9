#include "busbar/workload/kernels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "busbar/workload/layer_times.h"
#include "busbar/workload/test_models.h"

namespace busbar::workload {
namespace {

TEST(Kernels, CurvesAreStraightBetweenPointsAndFlatOutside) {
  const std::vector<EfficiencyPoint> curve = {{10, 0.5}, {20, 0.7}};
  EXPECT_DOUBLE_EQ(share_at(curve, 1), 0.5);
  EXPECT_DOUBLE_EQ(share_at(curve, 15), 0.6);
  EXPECT_DOUBLE_EQ(share_at(curve, 100), 0.7);
}

KernelTable without_memory_traffic() {
  KernelTable k = flat_kernels();
  k.memory_bytes_per_s = 1e30;
  return k;
}

TEST(Kernels, ALargeGemmRunsAtItsShareOfThePeak) {
  KernelTable k = without_memory_traffic();
  const double us = 2e6 * 8192.0 * 8192 * 8192;
  EXPECT_NEAR(k.gemm_time(8192, 8192, 8192).in_us(), us / 0.7e15, 0.01);
  EXPECT_NEAR(k.gemm_time(8192, 8192, 8192, Precision::kFp16).in_us(), us / 0.7e15, 0.01);
  EXPECT_NEAR(k.gemm_time(8192, 8192, 8192, Precision::kFp8).in_us(), us / 1.4e15, 0.01);
  k.bf16.sustained_share = 0.5;
  EXPECT_NEAR(k.gemm_time(8192, 8192, 8192).in_us(), us / 0.35e15, 0.01);
}

// 2880 columns and rows of weights fill 12 of 12 arrays of 256, the last of them to a quarter. A head of 64 elements
// fills a quarter of one.
TEST(Kernels, SidesOfProductsFillWholeSystolicArrays) {
  KernelTable k = without_memory_traffic();
  k.cores = 0;
  const Duration even = k.gemm_time(4096, 3072, 3072), before = k.gemm_time(4096, 2880, 2880);
  const auto attention = [&](std::uint32_t head) {
    return k.attention_time(AttentionKernel::kFlash, 8, 4096, head, 1, 1, false).in_us() / head;
  };
  const double narrow = attention(64), wide = attention(256);
  k.matrix_unit = 256;
  EXPECT_LT(before, even);
  EXPECT_EQ(k.gemm_time(4096, 2880, 2880), even);
  EXPECT_EQ(k.gemm_time(4096, 3072, 3072), even);
  EXPECT_NEAR(attention(64), 4 * narrow, 1e-3 * narrow);
  EXPECT_NEAR(attention(256), wide, 1e-3 * wide);
}

// Up, gate, activation and, unless the recomputation stops at the last tensor that is kept, down once more.
TEST(Kernels, AnMlpThatIsRecomputedTakesItsForwardPassAgain) {
  LayoutSpec l = small_layout(1, 1, 1, 1, 1);
  const ModelSpec m = llama3_70b();
  const auto mlp = [&] { return step_times(m, l, flat_kernels()).of(0).mlp; };
  const BlockTimes kept = mlp();
  l.recomputation = {.kind = Recompute::kSelective, .modules = {.mlp = true}};
  EXPECT_EQ(mlp().middle_back - kept.middle_back, kept.in + kept.middle + kept.out);
  l.recomputation.early_stop = true;
  EXPECT_EQ(mlp().middle_back - kept.middle_back, kept.in + kept.middle);
}

TEST(Kernels, ProductsInInt8RunAtTheRateOfInt8) {
  KernelTable k = without_memory_traffic();
  k.int8 = {2e15, 0.8, 1};
  EXPECT_NEAR(k.gemm_time(8192, 8192, 8192, Precision::kInt8).in_us(), 2e6 * 8192.0 * 8192 * 8192 / 1.6e15, 0.01);
  EXPECT_TRUE(is_narrow(Precision::kInt8));
  EXPECT_FALSE(is_narrow(Precision::kFp16));
}

TEST(Kernels, AThinGemmIsBoundByMemory) {
  const KernelTable k = flat_kernels();
  const Duration memory = k.memory_time(2.0 * (8192 + 8192.0 * 8192 + 8192));
  EXPECT_GE(k.gemm_time(1, 8192, 8192), memory);
  EXPECT_LT(k.gemm_time(1, 8192, 8192).in_us(), 1.01 * memory.in_us());
}

// Between decades: linear in the logarithm of the bytes.
TEST(Kernels, ShortMemoryBoundKernelsReachLessOfTheRate) {
  KernelTable k = flat_kernels();
  const double rate = k.memory_bytes_per_s * k.memory_share * 1e-6;  // per us
  EXPECT_NEAR(k.memory_time(1e6).in_us(), 1e6 / rate, 1e-3);
  k.memory_by_size = {{6, 0.6}, {7, 0.8}, {8, 1}};
  EXPECT_NEAR(k.memory_time(1e5).in_us(), 1e5 / rate / 0.6, 1e-3);
  EXPECT_NEAR(k.memory_time(1e7).in_us(), 1e7 / rate / 0.8, 1e-3);
  EXPECT_NEAR(k.memory_time(1e7 * std::sqrt(10.0)).in_us(), 1e7 * std::sqrt(10.0) / rate / 0.9, 1e-2);
  EXPECT_NEAR(k.memory_time(1e9).in_us(), 1e9 / rate, 1e-3);
  EXPECT_EQ(k.memory_time(0), Duration{});
}

// 1 FLOP forward and 2.5 backward: together at the share of the peak, backward the slower one.
TEST(Kernels, TheFirstGenerationOfFusedKernelsReachesItsShareInBothPassesTogether) {
  KernelTable k = flat_kernels();
  k.attention_flash1 = 0.2;
  const auto us = [&](bool backward) {
    return k.attention_time(AttentionKernel::kFlash1, 64, 16384, 128, 1, 1, backward).in_us();
  };
  const double forward_flops = 2.0 * 16384 * 16384 * 64 * 128;
  const double diagonal = 16384 / (16384 + 256.0) / (4096 / (4096 + 256.0));  // shares are those of 4096 tokens
  EXPECT_NEAR(3.5 * forward_flops / (us(false) + us(true)), 0.2e9 * diagonal, 1e-3 * 0.2e9);
  EXPECT_NEAR(us(true) / us(false), 2.5 * 73 / 63 * 2 / 1.4, 1e-3);
}

// One tile more than cores: the last wave has one tile and costs as much as a full one.
TEST(Kernels, TilesRunInWaves) {
  KernelTable k = without_memory_traffic();
  k.cores = 64;
  const double full = k.gemm_time(8 * 256, 8 * 128, 512).in_us(), more = k.gemm_time(8 * 256, 9 * 128, 512).in_us();
  EXPECT_NEAR(full, 2e6 * 2048.0 * 1024 * 512 / 0.7e15, 1e-3);
  EXPECT_GT(more, 1.5 * full);
  EXPECT_LE(more, 2.0 * full + 1e-6);
}

TEST(Kernels, FewTilesAreSplitAlongTheInnerDimension) {
  KernelTable k = without_memory_traffic();
  k.cores = 128;
  const double whole = k.gemm_time(1024, 1024, 1 << 16).in_us();  // 32 tiles of 256 x 128 on 128 cores
  EXPECT_LT(whole, 1.2 * 2e6 * 1024.0 * 1024 * (1 << 16) / 0.7e15);
}

TEST(Kernels, AttentionWithoutFusionPaysForItsScores) {
  const KernelTable k = flat_kernels();
  const auto time = [&](AttentionKernel a, std::uint32_t parts) {
    return k.attention_time(a, 16, 2048, 128, 4, parts, false).in_us();
  };
  EXPECT_GT(time(AttentionKernel::kUnfused, 1), time(AttentionKernel::kFlash, 1));
  EXPECT_NEAR(time(AttentionKernel::kUnfused, 2), time(AttentionKernel::kUnfused, 1) / 2, 1e-3);
}

TEST(Kernels, AttentionInEightBitsRunsAtItsOwnRate) {
  KernelTable k = flat_kernels();
  const auto us = [&](AttentionKernel a) { return k.attention_time(a, 8, 4096, 128, 1, 1, true).in_us(); };
  EXPECT_EQ(us(AttentionKernel::kFlash8), us(AttentionKernel::kFlash));  // nothing published: no gain
  k.attention_8bit = 1.25;
  EXPECT_NEAR(us(AttentionKernel::kFlash8) * 1.25, us(AttentionKernel::kFlash), 1e-5);
}

// Heads of 80 elements run in kernels for 96.
TEST(Kernels, OddHeadsArePadded) {
  const KernelTable k = flat_kernels();
  const auto us = [&](std::uint32_t d) {
    return k.attention_time(AttentionKernel::kFlash, 8, 4096, d, 1, 1, false).in_us();
  };
  EXPECT_NEAR(us(80), us(96), 1e-3);
  EXPECT_NEAR(us(108), us(128), 1e-3);
  EXPECT_LT(us(96), us(128));
}

TEST(Kernels, ShortSequencesLoseMoreOnTheDiagonal) {
  const KernelTable k = flat_kernels();  // a flat curve: only the diagonal has an effect
  const auto rate = [&](std::uint32_t s) {
    return 2.0 * s * s / k.attention_time(AttentionKernel::kFlash, 8, s, 128, 1, 1, false).in_us();
  };
  EXPECT_LT(rate(512), 0.8 * rate(4096));
  EXPECT_LT(rate(4096), rate(32768));
}

// Published shapes at 4096 rows on an A100 PCIe. Source: SimuMax configs/system/a100_pcie.json. The best GEMM's share
// and the chip's cores and memory suffice to predict all of them.
TEST(Kernels, PublishedShapesOfTheA100FollowFromItsBestGemm) {
  KernelTable k;
  k.bf16 = {.peak_flops_per_s = 312e12, .best_share = 253.0 / 312};
  k.cores = 108;
  k.memory_bytes_per_s = 1.555e12;
  k.memory_share = 0.91;
  struct Shape {
    std::uint64_t n, k;
    double share;
  };
  double sum = 0;
  const Shape shapes[] = {{576, 7168, 0.50},   {4096, 512, 0.61},    {4096, 1024, 0.62}, {1536, 4096, 0.78},
                          {4096, 4096, 0.72},  {8192, 1024, 0.60},   {8192, 8192, 0.73}, {8192, 3584, 0.69},
                          {28672, 8192, 0.75}, {128256, 8192, 0.745}};
  for (const Shape& s : shapes) {
    const double flops = 2.0 * 4096 * static_cast<double>(s.n * s.k);
    const double share = flops / (k.gemm_time(4096, s.n, s.k).in_us() * 1e-6) / 312e12;
    EXPECT_NEAR(share / s.share, 1, 0.23) << s.n << " x " << s.k << ": " << share;
    sum += std::abs(share / s.share - 1) / std::size(shapes);
  }
  EXPECT_LT(sum, 0.07);
}

// Backward has two GEMMs for each of the forward's: with flat shares, twice the time.
TEST(LayerTimes, MatrixWorkOfBackwardIsTwiceForward) {
  KernelTable k = flat_kernels();
  k.memory_bytes_per_s = 1e30;
  const StepTimes t = step_times(llama3_70b(), main_layout(1, 1), k);
  EXPECT_NEAR(t.kinds[0].mlp.backward().in_us() / t.kinds[0].mlp.forward().in_us(), 2, 1e-6);
}

// 10,922 against 10,944: 273 against 398 TFLOP/s. Source: stas00/ml-engineering, compute/accelerator.
TEST(LayerTimes, WidthsThatAreNotWholeLoadsAreSlow) {
  ModelSpec m = llama3_70b();
  LayoutSpec l = main_layout(1, 1);
  l.tp = 1;
  m.ffn = 10944;
  const StepTimes whole = step_times(m, l, flat_kernels());
  m.ffn = 10922;
  const StepTimes odd = step_times(m, l, flat_kernels());
  EXPECT_NEAR(odd.kinds[0].mlp.in.in_us() / whole.kinds[0].mlp.in.in_us(), 398.0 / 273, 0.01);
  EXPECT_NEAR(odd.kinds[0].mlp.in_wgrad.in_us() / whole.kinds[0].mlp.in_wgrad.in_us(), 398.0 / 273, 0.01);
  EXPECT_EQ(odd.kinds[0].mixer.in, whole.kinds[0].mixer.in);
}

TEST(LayerTimes, SelectiveRecomputationAddsTheAttentionCoreOnce) {
  LayoutSpec l = main_layout(1, 1);
  const KernelTable k = flat_kernels();
  const Duration with = step_times(llama3_70b(), l, k).kinds[0].mixer.backward();
  l.recomputation.kind = Recompute::kNone;
  const Duration without = step_times(llama3_70b(), l, k).kinds[0].mixer.backward();
  EXPECT_EQ(with - without, k.attention_time(AttentionKernel::kFlash, 8, 4096, 128, 1, 1, false));
}

TEST(LayerTimes, LaunchesShowOnlyWhereKernelsAreShort) {
  KernelTable slow = flat_kernels();
  slow.launch = Duration::us(4);
  const StepTimes large = step_times(llama3_70b(), main_layout(1, 1), slow);
  EXPECT_EQ(large.kinds[0].mlp.in, step_times(llama3_70b(), main_layout(1, 1), flat_kernels()).kinds[0].mlp.in);
  const StepTimes small = step_times(small_model(), small_layout(8, 1, 1, 1, 1), slow);
  EXPECT_EQ(small.kinds[0].mlp.in + small.kinds[0].mlp.middle + small.kinds[0].mlp.out, Duration::us(32));  // 8 kernels
}

}  // namespace
}  // namespace busbar::workload
