#include "busbar/workload/model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/workload/test_models.h"

namespace busbar::workload {
namespace {

TEST(Model, Llama70BHasItsPublishedParameterCount) { EXPECT_EQ(parameter_count(llama3_70b()), 70'553'706'496u); }

TEST(Model, TiedEmbeddingsCountOnce) {
  ModelSpec m = small_model();
  const std::uint64_t untied = parameter_count(m);
  m.tied_embeddings = true;
  EXPECT_EQ(untied - parameter_count(m), 32000u * 1024u);
}

// 6 N + 12 L h s per token, N without the input embedding: the usual approximation.
TEST(Model, FlopsPerTokenAgreeWithTheShorthand) {
  const ModelSpec m = llama3_70b();
  const ModelFlops f = flops_per_token(m, 4096);
  const double n = static_cast<double>(parameter_count(m) - embedding_parameters(m));
  EXPECT_NEAR(f.full_attention / (6 * n + 12.0 * m.layers * m.hidden * 4096), 1.0, 1e-4);
  EXPECT_NEAR(f.full_attention - f.causal, 6.0 * m.layers * m.hidden * 4096, 1.0);
}

// Source: dgxc-benchmarking README: Llama 3.1 8B costs 4.74e14 FLOPs per sequence of 8192 tokens.
TEST(Model, Llama8BHasTheFlopsThatNvidiaPrints) {
  ModelSpec m = llama3_70b();
  m.layers = 32;
  m.hidden = 4096;
  m.ffn = 14336;
  m.heads = 32;
  EXPECT_NEAR(flops_per_token(m, 8192).full_attention * 8192, 4.74e14, 0.01e14);
}

// Source: DeepSeek-V3, arXiv:2412.19437, section 4.2: 671B parameters, 37B of them for each token (36.6 without the
// input embedding), 250 GFLOP per token at 4096 with causal attention: three times 2 per weight and the scores.
TEST(Model, DeepSeekV3CountsTheExpertsThatATokenUses) {
  const ModelSpec m = deepseek_v3();
  EXPECT_NEAR(static_cast<double>(parameter_count(m)), 671.0e9, 0.1e9);
  const double active = static_cast<double>(active_parameter_count(m) - embedding_parameters(m));
  EXPECT_NEAR(active, 36.6e9, 0.05e9);
  const double scores = 4096.0 * 128 * (192 + 128) * 61;                            // 2 per product, half of them
  EXPECT_NEAR(flops_per_token(m, 4096).causal, 3 * (2 * active + scores), 0.01e9);  // active counts norms
  EXPECT_NEAR(flops_per_token(m, 4096).causal, 250e9, 1e9);
}

TEST(Model, LayersWithExpertsFollowTheDenseOnesOrAlternate) {
  ModelSpec m = deepseek_v3();
  EXPECT_FALSE(has_experts(m, 2));
  EXPECT_TRUE(has_experts(m, 3));
  EXPECT_EQ(expert_layers(m), 58u);
  m.layers = 48, m.moe.dense_layers = 0, m.moe.every = 2;  // Llama 4 Maverick
  EXPECT_EQ(expert_layers(m), 24u);
  std::uint32_t counted = 0;
  for (std::uint32_t i = 0; i < m.layers; ++i) counted += has_experts(m, i) ? 1 : 0;
  EXPECT_EQ(counted, 24u);
  EXPECT_FALSE(has_experts(m, 0));
}

// Source: deepseek-ai/DeepSeek-V3, README_WEIGHTS.md: 11.5B parameters besides the shared embedding and head, of which
// one token uses 2.4B with both tables (0.9B each).
TEST(Model, APredictorOfOneMoreTokenIsALayerAProjectionAndAHead) {
  ModelSpec m = deepseek_v3();
  const std::uint64_t all = parameter_count(m);
  const double before = flops_per_token(m, 4096).causal, active = static_cast<double>(active_parameter_count(m));
  m.mtp = 1;
  EXPECT_NEAR(static_cast<double>(parameter_count(m) - all), 11.5e9, 0.15e9);
  const double more = static_cast<double>(active_parameter_count(m)) - active;
  const double head = static_cast<double>(embedding_parameters(m)), scores = 4096.0 * 128 * (192 + 128);
  EXPECT_NEAR(more + 2 * head, 2.4e9, 0.15e9);
  EXPECT_NEAR(flops_per_token(m, 4096).causal - before, 3 * (2 * (more + head) + scores), 0.01e9);
  EXPECT_TRUE(has_experts(m, 61));
}

TEST(Model, AWindowHidesTheKeysBeforeIt) {
  ModelSpec m = small_model();
  EXPECT_EQ(window_share(m.window.tokens, 4096), 1);
  m.window = {.tokens = 128, .full_every = 2};
  double seen = 0, causal = 0;
  for (int i = 1; i <= 4096; ++i) seen += std::min(i, 128), causal += i;
  EXPECT_NEAR(window_share(m.window.tokens, 4096), seen / causal, 1e-3);
  EXPECT_EQ(window_share(m.window.tokens, 128), 1);
  EXPECT_TRUE(has_window(m, 0));
  EXPECT_FALSE(has_window(m, 1));
  ModelSpec without = m;
  without.window = {};
  const double scores = 6.0 * 4096 * m.heads * m.head_dim * m.layers;  // causal
  EXPECT_NEAR(flops_per_token(without, 4096).causal - flops_per_token(m, 4096).causal,
              scores / 2 * (1 - window_share(m.window.tokens, 4096)), 1e3);
}

TEST(Model, HeadsThatCannotShareAreRefused) {
  ModelSpec m = small_model();
  m.kv_heads = 7;
  const Status s = check_model(m);
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.error().text().find("kv_heads"), std::string::npos);
}

}  // namespace
}  // namespace busbar::workload
