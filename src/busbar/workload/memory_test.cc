#include "busbar/workload/memory.h"

#include <gtest/gtest.h>

#include "busbar/workload/buckets.h"
#include "busbar/workload/test_models.h"

namespace busbar {
namespace {

double gigabytes(Bytes b) { return static_cast<double>(count(b)) * 1e-9; }

// 6 + 12/D bytes per parameter with the distributed optimizer, 18 without. Source: Megatron-LM docs, dist_optimizer.
TEST(Memory, StatesPerParameterAreMegatrons) {
  for (const std::uint32_t zero : {0u, 1u}) {
    LayoutSpec l = main_layout(1, 1);
    l.zero = zero;
    const MemoryUse use = memory_use(llama3_70b(), l);
    const double states = gigabytes(use.parameters) + gigabytes(use.gradients) + gigabytes(use.optimizer);
    const double per_parameter = states * 1e9 / static_cast<double>(stage_parameters(llama3_70b(), l, 0));
    EXPECT_NEAR(per_parameter, zero == 0 ? 18.0 : 6 + 12.0 / 64, 1e-6);
  }
}

TEST(Memory, TheMainJobsFitEightyGigabytes) {
  for (const LayoutSpec& l : {main_layout(1, 1), main_layout(4, 5)}) {
    const MemoryUse use = memory_use(llama3_70b(), l);
    EXPECT_TRUE(check_fits(use, Bytes{80'000'000'000}).ok()) << gigabytes(use.total());
    EXPECT_GT(gigabytes(use.total()), 25);
  }
}

TEST(Memory, WhatDoesNotFitIsACleanNoWithFigures) {
  LayoutSpec l = main_layout(1, 1);
  l.micro_batch = 16;
  const Status s = check_fits(memory_use(llama3_70b(), l), Bytes{80'000'000'000});
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, ErrorCode::kDoesNotFit);
  EXPECT_NE(s.error().text().find("activations"), std::string::npos) << s.error().text();
}

// Source: own count of what flash attention, RMS norm and SwiGLU keep: s b (8 h + 4 H d + 4 Hkv d + 6 f) / t.
TEST(Memory, ActivationsOfALayerFollowTheFormula) {
  const double expected = 4096.0 * (8 * 8192 + 4 * 64 * 128 + 4 * 8 * 128 + 6 * 28672 + 4 * 64) / 8;
  EXPECT_NEAR(static_cast<double>(activation_bytes_per_layer(llama3_70b(), main_layout(1, 1))), expected, 1);
}

// 1F1B holds p micro-batches on the first stage; interleaved 1 + (p-1)/(p v) times as much (Korthikanti et al.).
TEST(Memory, PipelinesKeepWhatTheirScheduleKeeps) {
  LayoutSpec l = main_layout(4, 1);
  EXPECT_EQ(chunks_in_flight(l, 0), 4u);
  EXPECT_EQ(chunks_in_flight(l, 3), 1u);
  l = main_layout(4, 5);
  const double passes = chunks_in_flight(l, 0), all = 4 * 5;  // chunks of 1/20 of the model
  EXPECT_NEAR(passes / all, 1 + 3.0 / 20, 1.0 / 20);
}

}  // namespace
}  // namespace busbar
