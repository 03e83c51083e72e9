#include "busbar/workload/adapters.h"

#include <gtest/gtest.h>

#include "busbar/workload/batch.h"
#include "busbar/workload/build_program.h"
#include "busbar/workload/internal/buckets.h"
#include "busbar/workload/internal/trained.h"
#include "busbar/workload/layer_times.h"
#include "busbar/workload/memory.h"
#include "busbar/workload/test_models.h"

namespace busbar::workload {
namespace {

constexpr std::uint32_t kAllLinear = 0x7f;  // query, key, value, output, gate, up, down
constexpr std::uint32_t kQueryValue = adapter_bits(AdapterTarget::kQuery) | adapter_bits(AdapterTarget::kValue);

/// Source: arXiv:2302.13971, table 2; vocabulary of 32,000.
ModelSpec llama(std::uint32_t layers, std::uint32_t hidden, std::uint32_t ffn, std::uint32_t heads) {
  ModelSpec m;
  m.name = "Llama";
  m.layers = layers;
  m.hidden = hidden;
  m.ffn = ffn;
  m.heads = m.kv_heads = heads;
  m.head_dim = 128;
  m.vocab = 32000;
  return m;
}

LayoutSpec one_gpu(const ModelSpec& m, std::uint32_t rank, std::uint32_t targets, BaseWeights base) {
  LayoutSpec l;
  l.batch.seq = 512;
  l.batch.global = 1;
  l.adapters = {.rank = rank, .targets = targets, .base = base};
  return resolve_layout(l, m, 1).value();
}

// PEFT prints 4,194,304 trainable parameters for rank 8 on queries and values of Llama 7B, and 39,976,960 for rank 16
// on all of its linear layers.
TEST(Adapters, TrainableParametersAreThoseThatPeftPrints) {
  const ModelSpec m = llama(32, 4096, 11008, 32);
  EXPECT_EQ(stage_trained(m, one_gpu(m, 8, kQueryValue, BaseWeights::kBf16), 0).dense, 4'194'304u);
  EXPECT_EQ(stage_trained(m, one_gpu(m, 16, kAllLinear, BaseWeights::kBf16), 0).dense, 39'976'960u);
}

// Source: QLoRA (arXiv:2305.14314), section 3: double quantisation takes scales from 0.5 to 0.127 bits per parameter.
TEST(Adapters, DoubleQuantisedScalesTakeAnEighthOfABit) {
  EXPECT_NEAR(base_weight_bytes({.base = BaseWeights::kNf4}) * 8, 4.127, 5e-4);
  EXPECT_EQ(base_weight_bytes({.base = BaseWeights::kNf4, .double_quantised = false}) * 8, 4.5);
}

// The same paper's abstract: 65 B parameters on one GPU of 48 GB, with gradient checkpointing, rank 64 on all linear
// layers, and adapters in bf16 with Adam's moments in fp32. Its figure 6 counts 45.0 GB.
TEST(Adapters, Llama65BFitsOn48GigabytesInFourBits) {
  const ModelSpec m = llama(80, 8192, 22016, 64);
  LayoutSpec l = one_gpu(m, 64, kAllLinear, BaseWeights::kNf4);
  l.recomputation.kind = Recompute::kFull;
  l.exchange.gradient_bytes = 2;
  l.optimizer.master_bytes = 0;
  const MemoryUse four = memory_use(m, l);
  EXPECT_TRUE(check_fits(four, Bytes{48'000'000'000}).ok());
  EXPECT_NEAR(static_cast<double>(count(four.allocated())) * 1e-9, 45.0, 2.0);
  l.adapters.base = BaseWeights::kBf16;
  EXPECT_FALSE(check_fits(memory_use(m, l), Bytes{80'000'000'000}).ok());
}

TEST(Adapters, OnlyAdaptersHaveGradientsAndStates) {
  const ModelSpec m = llama(32, 4096, 11008, 32);
  const MemoryUse use = memory_use(m, one_gpu(m, 16, kAllLinear, BaseWeights::kBf16));
  EXPECT_EQ(count(use.gradients), 39'976'960u * 4);
  EXPECT_EQ(count(use.optimizer), 39'976'960u * 12);
  EXPECT_EQ(count(use.parameters),
            stage_parameters(m, LayoutSpec(one_gpu(m, 16, kAllLinear, BaseWeights::kBf16)), 0) * 2 + 39'976'960u * 2);
}

TEST(Adapters, BackwardPassesHaveNoProductsForFrozenWeights) {
  const ModelSpec m = llama(4, 4096, 11008, 32);
  LayoutSpec l = one_gpu(m, 16, kQueryValue, BaseWeights::kBf16);
  const StepTimes with = step_times(m, l, flat_kernels());
  l.adapters = {};
  const StepTimes all = step_times(m, l, flat_kernels());
  EXPECT_EQ(with.kinds[0].mlp.out_wgrad, Duration());
  EXPECT_EQ(with.kinds[0].mlp.forward(), all.kinds[0].mlp.forward());
  EXPECT_EQ(with.kinds[0].mlp.out_dgrad, all.kinds[0].mlp.out_dgrad);
  EXPECT_EQ(with.ends.logits_wgrad, Duration());
  EXPECT_GT(with.kinds[0].mixer.in, all.kinds[0].mixer.in);
}

TEST(Adapters, WeightsInFourBitsAreReadAndWrittenForEachProduct) {
  const ModelSpec m = llama(4, 4096, 11008, 32);
  LayoutSpec l = one_gpu(m, 16, kQueryValue, BaseWeights::kBf16);
  const KernelTable k = flat_kernels();
  const StepTimes whole = step_times(m, l, k);
  l.adapters.base = BaseWeights::kNf4;
  const StepTimes four = step_times(m, l, k);
  const double bytes = 4096.0 * 11008 * (base_weight_bytes(l.adapters) + 2);
  EXPECT_EQ(four.kinds[0].mlp.out - whole.kinds[0].mlp.out, k.memory_time(bytes));
  EXPECT_EQ(four.kinds[0].mlp.out_dgrad - whole.kinds[0].mlp.out_dgrad, k.memory_time(bytes));
}

TEST(Adapters, ReplicasExchangeAdaptersOnly) {
  const ModelSpec m = llama(32, 4096, 11008, 32);
  LayoutSpec l;
  l.dp = 8;
  l.batch.global = 8;
  l.adapters = {.rank = 16, .targets = kAllLinear};
  l = resolve_layout(l, m, 8).value();
  const BucketPlan plan = plan_buckets(m, l, 0, 0);
  EXPECT_EQ(plan.bucket_trained, std::vector<std::uint64_t>{39'976'960});
  l.sharding.zero = 3;  // units of all weights, and shards of adapters
  const BucketPlan units = plan_buckets(m, l, 0, 0);
  EXPECT_EQ(units.bucket_parameters.size(), 34u);
  EXPECT_EQ(units.bucket_trained[1], 39'976'960u / 32);
}

TEST(Adapters, ExpertsHaveAdaptersOfTheirOwn) {
  LayoutSpec l = one_gpu(small_model(), 8, adapter_bits(AdapterTarget::kDown), BaseWeights::kBf16);
  const ModelSpec m = small_experts();
  l = resolve_layout(l, m, 1).value();
  EXPECT_EQ(stage_trained(m, l, 0).experts, 7u * 16 * 8 * (1024 + 1024));
  EXPECT_EQ(stage_trained(m, l, 0).dense, 8u * (4096 + 1024) + 7 * 8 * (1024 + 1024));
}

TEST(Optimizers, StatesTakeWhatTheirNumbersTake) {
  EXPECT_EQ(state_bytes({}), 12);
  EXPECT_EQ(state_bytes({.kind = OptimizerKind::kSgd}), 8);
  EXPECT_EQ(state_bytes({.kind = OptimizerKind::kAdafactor}), 4);
  EXPECT_EQ(state_bytes({.moments = MomentKind::kBf16}), 8);  // DeepSeek-V3 (arXiv:2412.19437), section 3.3.2
  EXPECT_EQ(state_bytes({.moments = MomentKind::kInt8, .master_bytes = 0}), 2.03125);
  EXPECT_EQ(state_bytes({.moments = MomentKind::kNvfp4}), 4 + 2 * 0.5625);
}

// Five steps of 4 a^2 b + 2 a^3 FLOPs for a matrix of a x b; ranks of ZeRO-1 share whole matrices, so that all take no
// less than the largest.
TEST(Optimizers, MuonTakesItsNewtonSchulzProducts) {
  const ModelSpec m = llama(32, 4096, 11008, 32);
  LayoutSpec l = one_gpu(m, 0, 0, BaseWeights::kBf16);
  l.sharding.zero = 0;
  l.optimizer.kind = OptimizerKind::kMuon;
  const double h = 4096, f = 11008;
  const auto flops = [](double a, double b) { return 5 * (4 * a * a * b + 2 * a * a * a); };
  const double all = 32 * (flops(h, 3 * h) + flops(h, h) + 3 * flops(h, f));
  KernelTable k = flat_kernels();
  k.memory_bytes_per_s = 1e18;  // products alone
  EXPECT_NEAR(orthogonal_time(m, l, 0, k).in_s(), all / 0.7e15, 0.02 * all / 0.7e15);
  EXPECT_EQ(state_bytes(l.optimizer), 8);
  const std::uint64_t tables = 2 * 32000 * 4096 + 4096;
  EXPECT_EQ(count(memory_use(m, l).optimizer), stage_parameters(m, l, 0) * 8 + tables * 4);
}

// Ranks of shards that are no whole tensors gather 2 bytes of each parameter of layers once a step, and ranks of TP too
// where each of them makes whole matrices orthogonal.
TEST(Optimizers, MuonGathersShardsAndPartsOfMatrices) {
  const ModelSpec m = llama(32, 4096, 11008, 32);
  LayoutSpec l;
  l.tp = 2;
  l.dp = 8;
  l.batch.global = 8;
  l.optimizer.kind = OptimizerKind::kMuon;
  const auto gathered = [&](const LayoutSpec& layout) {
    const LayoutSpec resolved = resolve_layout(layout, m, 16).value();
    const program::Program p = build_program(m, resolved, flat_kernels()).value();
    std::vector<std::uint64_t> out;
    for (const program::Op& o : p.ops)
      if (p.labels[o.label] == "gather momenta") out.push_back(count(p.calls[index(o.call)].bytes));
    return out;
  };
  const std::uint64_t layers = 32ull * (4 * 4096 * 4096 + 3 * 4096 * 11008) / 2 + 32 * 2 * 4096;
  EXPECT_EQ(gathered(l), std::vector<std::uint64_t>{2 * layers});
  l.optimizer.tp = MuonTp::kDuplicated;
  EXPECT_EQ(gathered(l), (std::vector<std::uint64_t>{2 * layers, 2 * 2 * layers}));
  l.sharding.whole_tensors = true;
  EXPECT_EQ(gathered(l), std::vector<std::uint64_t>{2 * 2 * layers});
}

TEST(Optimizers, ShardsThatAreNoWholeTensorsTouchOneMatrixMore) {
  const ModelSpec m = llama(32, 4096, 11008, 32);
  LayoutSpec l;
  l.dp = 8;
  l.batch.global = 8;
  l.optimizer.kind = OptimizerKind::kMuon;
  l.sharding.zero = 0;
  const KernelTable k = flat_kernels();
  const auto seconds = [&] { return orthogonal_time(m, resolve_layout(l, m, 8).value(), 0, k).in_s(); };
  const double all = seconds();
  l.sharding.zero = 1;
  const double shards = seconds();
  EXPECT_GT(shards, all / 8);
  EXPECT_LT(shards, all / 8 + all / 32);  // the longest matrix is less than a layer's
}

// Two groups of 4 replicas: gradients stay inside, and in each step a tenth of the changes of a shard goes between.
TEST(LocalSteps, GroupsExchangeTheirShareOfTheChanges) {
  const ModelSpec m = llama(4, 4096, 11008, 32);
  LayoutSpec l;
  l.dp = 8;
  l.batch.global = 8;
  l.sharding.group = 4;
  l.sharding.local_steps = 10;
  l = resolve_layout(l, m, 8).value();
  const program::Program p = build_program(m, l, flat_kernels()).value();
  std::vector<std::uint64_t> between;
  for (const program::Op& o : p.ops) {
    if (o.kind != program::OpKind::kCollective) continue;
    const program::CollectiveCall& call = p.calls[index(o.call)];
    if (p.labels[o.label] == "exchange changes between groups") {
      between.push_back(count(call.bytes));
      EXPECT_EQ(call.groups.actor(0, 1), 4u);
    } else {
      EXPECT_LE(call.groups.size(), 4u) << p.labels[o.label];
    }
  }
  EXPECT_EQ(between, std::vector<std::uint64_t>{stage_parameters(m, l, 0) * 4 / 4 / 10});
  LayoutSpec together = l;
  together.sharding.local_steps = 0;
  EXPECT_EQ(count(memory_use(m, l).optimizer) - count(memory_use(m, together).optimizer),
            stage_parameters(m, l, 0) / 4 * 8);
}

TEST(LocalSteps, NeedGroupsOfShards) {
  const ModelSpec m = llama(4, 4096, 11008, 32);
  LayoutSpec l;
  l.dp = 8;
  l.batch.global = 8;
  l.sharding.local_steps = 10;
  EXPECT_NE(resolve_layout(l, m, 8).error().text().find("shard_group: 4"), std::string::npos);
  l.dp = 4, l.pp = 2, l.sharding.group = 2;
  EXPECT_NE(resolve_layout(l, m, 8).error().text().find("rank_order: tp-cp-pp-dp"), std::string::npos);
  l.rank_order = kTpCpPpDp;
  EXPECT_TRUE(resolve_layout(l, m, 8).ok());
}

// A causal token of a document of length l sees l/2 tokens: half of the sequence's scores are left with two halves.
TEST(Documents, TwoHalvesHaveHalfOfTheScores) {
  const ModelSpec m = llama(4, 4096, 11008, 32);
  LayoutSpec l = one_gpu(m, 0, 0, BaseWeights::kBf16);
  l.batch.seq = 1 << 17;  // far longer than a block
  const Duration whole = step_times(m, l, flat_kernels()).kinds[0].mixer.core;
  l.batch.documents = {1 << 16};
  const Duration halves = step_times(m, l, flat_kernels()).kinds[0].mixer.core;
  EXPECT_NEAR(static_cast<double>(halves.in_ps()) / static_cast<double>(whole.in_ps()), 0.5, 1e-3);
}

TEST(Documents, LongOnesAreCutIntoSequences) {
  EXPECT_EQ(document_pieces({.seq = 100, .documents = {250, 30}}), (std::vector<std::uint32_t>{100, 100, 50, 30}));
  EXPECT_EQ(document_pieces({.seq = 100}), std::vector<std::uint32_t>{100});
}

}  // namespace
}  // namespace busbar::workload
