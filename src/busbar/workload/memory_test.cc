#include "busbar/workload/memory.h"

#include <gtest/gtest.h>

#include "busbar/workload/internal/buckets.h"
#include "busbar/workload/test_models.h"

namespace busbar::workload {
namespace {

double gigabytes(Bytes b) { return static_cast<double>(count(b)) * 1e-9; }

// 6 + 12/D bytes per parameter with the distributed optimizer, 18 without. Source: Megatron-LM docs, dist_optimizer.
TEST(Memory, StatesPerParameterAreMegatrons) {
  for (const std::uint32_t zero : {0u, 1u}) {
    LayoutSpec l = main_layout(1, 1);
    l.sharding.zero = zero;
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

TEST(Memory, AModelThatDoesNotFitIsRefusedWithFigures) {
  LayoutSpec l = main_layout(1, 1);
  l.batch.micro = 16;
  const Status s = check_fits(memory_use(llama3_70b(), l), Bytes{80'000'000'000});
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, ErrorCode::kDoesNotFit);
  EXPECT_NE(s.error().text().find("activations"), std::string::npos) << s.error().text();
}

// Source: our own count of tensors kept by flash attention, RMS norm and SwiGLU: s b (8 h + 4 H d + 4 Hkv d + 6 f) / t.
TEST(Memory, ActivationsOfALayerFollowTheFormula) {
  const double expected = 4096.0 * (8 * 8192 + 4 * 64 * 128 + 4 * 8 * 128 + 6 * 28672 + 4 * 64) / 8;
  EXPECT_NEAR(static_cast<double>(most_activation_bytes(llama3_70b(), main_layout(1, 1))), expected, 1);
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

// Korthikanti et al. 2022 (arXiv:2205.05198), table 2, for a layer with 4h MLP and layer norms: 34 s b h plus 5 a s^2 b
// of scores. Dropout masks are not counted here: less 2 s b h (1 each after attention and MLP). With sequence
// parallelism t divides all of it; without, it does not divide 10 s b h.
TEST(Memory, ActivationsFollowKorthikanti) {
  ModelSpec m = llama3_70b();
  m.layers = 96, m.hidden = 12288, m.ffn = 4 * 12288, m.heads = m.kv_heads = 96, m.gated_mlp = false;
  LayoutSpec l = main_layout(1, 1);
  l.batch.seq = 2048;
  l.recomputation.kind = Recompute::kNone;
  l.attention = AttentionKernel::kUnfused;
  const double sbh = 2048.0 * 12288, scores = 5.0 * 96 * 2048 / 12288;
  const auto bytes = [&] { return static_cast<double>(most_activation_bytes(m, l)); };
  EXPECT_NEAR(bytes() / (sbh / 8 * (34 + scores)), 1, 0.03);
  l.sequence_parallel = false;
  EXPECT_NEAR(bytes() / (sbh * (10 + 24.0 / 8 + scores / 8)), 1, 0.1);
  l.recomputation.kind = Recompute::kSelective;
  l.sequence_parallel = true;
  EXPECT_NEAR(bytes() / (34 * sbh / 8), 1, 0.07);
  EXPECT_DOUBLE_EQ(static_cast<double>(checkpoint_bytes_per_layer(m, l)), 2 * sbh / 8);
}

// Korthikanti et al. 2022, figure 1: none of the four models of table 3 fits an A100 of 80 GB with TP alone. All fit
// with sequence parallelism and selective recomputation.
TEST(Memory, KorthikantisModelsFitOnlyWithWhatThePaperAdds) {
  struct Row {
    std::uint32_t layers, hidden, heads, pp, vpp, micro_batch;
  };
  for (const Row& r : {Row{48, 6144, 64, 1, 1, 4}, Row{96, 12288, 96, 8, 3, 1}, Row{105, 20480, 128, 35, 3, 1},
                       Row{128, 25600, 160, 64, 1, 1}}) {
    ModelSpec m = llama3_70b();
    m.layers = r.layers, m.hidden = r.hidden, m.ffn = 4 * r.hidden, m.gated_mlp = false, m.vocab = 51200;
    m.heads = m.kv_heads = r.heads, m.head_dim = r.hidden / r.heads, m.tied_embeddings = true;
    LayoutSpec l;
    l.tp = 8, l.pp = r.pp, l.vpp = r.vpp, l.dp = 1, l.sharding.zero = 0, l.batch.seq = 2048;
    l.batch.micro = r.micro_batch, l.batch.global = r.pp * r.micro_batch;
    l.attention = AttentionKernel::kUnfused;
    const auto gigabytes = [&](bool added) {
      l.sequence_parallel = added;
      l.recomputation.kind = added ? Recompute::kSelective : Recompute::kNone;
      return static_cast<double>(count(memory_use(m, resolve_layout(l, m, 0).value()).total())) / 1e9;
    };
    EXPECT_GT(gigabytes(false), 85.0) << r.layers;  // what CUDA reports: 79.2 GiB
    EXPECT_LT(gigabytes(true), 85.0) << r.layers;
  }
}

// DeepSpeed's counting: 16/D bytes per parameter with everything sharded. Source: ZeRO (arXiv:1910.02054), figure 1.
TEST(Memory, ShardingDividesStatesByItsDegree) {
  LayoutSpec l = main_layout(1, 1);
  l.exchange.gradient_bytes = 2;
  const double all = static_cast<double>(stage_parameters(llama3_70b(), l, 0));
  const auto states = [&](std::uint32_t zero) {
    l.sharding.zero = zero;
    const MemoryUse use = memory_use(llama3_70b(), l);
    return static_cast<double>(count(use.parameters) + count(use.gradients) + count(use.optimizer)) / all;
  };
  EXPECT_NEAR(states(0), 16, 1e-6);
  EXPECT_NEAR(states(1), 4 + 12.0 / 64, 1e-3);
  EXPECT_NEAR(states(2), 2 + 14.0 / 64, 1e-3);
  EXPECT_NEAR(states(3), 16.0 / 64, 1e-3);
  l.sharding.group = 8;
  EXPECT_NEAR(states(3), 16.0 / 8, 1e-3);
}

// With stages the same table holds for the stage's own parameters. Accumulated gradients are whole. Parameters that
// stay gathered are whole, and their shard is extra.
TEST(Memory, ShardingWithStagesDividesTheStatesOfAStage) {
  LayoutSpec l = main_layout(4, 1);
  l.exchange.gradient_bytes = 2;
  const double local = static_cast<double>(stage_parameters(llama3_70b(), l, 1));
  const auto states = [&](std::uint32_t zero) {
    l.sharding.zero = zero;
    const MemoryUse use = stage_memory(llama3_70b(), l, 1);
    return static_cast<double>(count(use.parameters) + count(use.gradients) + count(use.optimizer)) / local;
  };
  EXPECT_NEAR(states(2), 2 + 14.0 / 16, 1e-3);
  EXPECT_NEAR(states(3), 16.0 / 16, 1e-3);
  const auto gathered = [&] { return static_cast<double>(count(stage_memory(llama3_70b(), l, 1).gathered)); };
  const double layer = local / 20;  // Llama-3-70B over four stages
  EXPECT_NEAR(gathered() / layer, 2 * 2 + 2, 1e-3);
  l.sharding.accumulate_gradients = true;
  EXPECT_NEAR(states(3), 2 + 14.0 / 16, 1e-3);
  const double reduced = 2 * layer + 2 * local / 16;  // the layer on its way, and the shards that it goes to
  EXPECT_NEAR(gathered(), 2 * 2 * layer + reduced, 1e-3 * layer);
  l.sharding.reshard = false;
  EXPECT_NEAR(gathered(), 2 * local + reduced, 1e-3 * layer);
}

TEST(Memory, FullRecomputationKeepsInputsAndOneLayer) {
  LayoutSpec l = main_layout(4, 1);
  l.recomputation.kind = Recompute::kFull;
  const MemoryUse use = stage_memory(llama3_70b(), l, 0);  // 20 layers, 4 micro-batches in flight
  EXPECT_EQ(count(use.activations), 80 * checkpoint_bytes_per_layer(llama3_70b(), l));
  EXPECT_EQ(count(use.recomputed), most_activation_bytes(llama3_70b(), l));
  l.recomputation.layers = 10;
  EXPECT_GT(count(stage_memory(llama3_70b(), l, 0).activations), count(use.activations));
}

// A hand count: 16 micro-batches over 4 stages. Stage 1 has 3 in flight, so 13 inputs besides theirs, 16 gradients and
// 3 outputs. The last stage has 1 in flight and keeps the logits of all.
TEST(Memory, PyTorchsPipelineHasBuffersForAllMicroBatches) {
  LayoutSpec l = main_layout(4, 1);
  l.recomputation.kind = Recompute::kFull;
  l.loss = LossKernel::kTorch;
  l.batch.global = 16 * l.dp * l.batch.micro;
  const auto use = [&](std::uint32_t stage, bool buffers) {
    l.stage_buffers = buffers;
    return stage_memory(llama3_70b(), l, stage);
  };
  const auto more = [&](std::uint32_t stage) {
    return (count(use(stage, true).activations) - count(use(stage, false).activations)) /
           checkpoint_bytes_per_layer(llama3_70b(), l);
  };
  EXPECT_EQ(more(0), 16u + 4u);  // nothing to receive forward
  EXPECT_EQ(more(1), 13u + 16u + 3u);
  EXPECT_EQ(more(3), 15u);  // nothing to receive backward
  const std::uint64_t logits = std::uint64_t{l.tokens()} * (128'256 / l.tp);
  EXPECT_EQ(count(use(3, true).logits) - count(use(3, false).logits), 15 * logits * 2);
  EXPECT_EQ(count(use(2, true).logits), 0u);
  l.pp = 1;
  l.split.chunk_layers = {80};
  EXPECT_EQ(count(use(0, true).total()), count(use(0, false).total()));
}

// The loss and the recomputation of a layer are never at the same time: only the larger counts.
TEST(Memory, TheLastStageNeedsTheLogitsOrOneLayerWhicheverIsMore) {
  LayoutSpec l = main_layout(1, 1);
  l.recomputation.kind = Recompute::kFull;
  const auto layer = most_activation_bytes(llama3_70b(), l);
  for (const std::uint32_t vocab : {8'000u, 128'256u}) {
    ModelSpec m = llama3_70b();
    m.vocab = vocab;
    const MemoryUse use = memory_use(m, l);
    const std::uint64_t logits = std::uint64_t{l.tokens()} * (vocab / l.tp) * 6;
    EXPECT_EQ(count(use.logits), logits > layer ? logits : 0) << vocab;
    EXPECT_EQ(count(use.recomputed), logits > layer ? 0 : layer) << vocab;
  }
}

// A hand count of what PyTorch's cross_entropy keeps: logits (2), in fp32 (4), log-softmax (4), its gradient (4).
TEST(Memory, PyTorchsLossKeepsMoreOfTheLogitsThanMegatrons) {
  LayoutSpec l = main_layout(1, 1);
  EXPECT_EQ(bytes_per_logit(l), 6u);
  l.loss = LossKernel::kTorch;
  EXPECT_EQ(bytes_per_logit(l), 22u);  // over TP
  l.tp = 1;
  EXPECT_EQ(bytes_per_logit(l), 14u);
  l.loss = LossKernel::kFused;
  EXPECT_EQ(bytes_per_logit(l), 2u);
  l.loss = LossKernel::kChunked;
  EXPECT_EQ(bytes_per_logit(l), 0u);
}

// 8 h + 4 H d + 4 Hkv d + 6 f per token: without the outputs of norms 4 h less, without the activation's output 2 f
// less.
TEST(Memory, RecomputedModulesKeepLess) {
  LayoutSpec l = main_layout(1, 1);
  const auto kept = [&] { return most_activation_bytes(llama3_70b(), l); };
  const std::uint64_t tokens = l.tokens(), all = kept();
  l.recomputation.kind = Recompute::kSelective;
  EXPECT_EQ(kept(), all);  // the attention core of a fused kernel keeps no scores
  l.recomputation.modules.layernorm = true;
  EXPECT_EQ(all - kept(), 4 * 8192 / l.tp * tokens);
  l.recomputation.modules.act = true;
  EXPECT_EQ(all - kept(), (4 * 8192 + 2 * 28672) / l.tp * tokens);
  l.recomputation.modules = {.mlp = true};  // its input stays, and so do attention's tensors
  EXPECT_EQ(all - kept(), 6 * 28672 / l.tp * tokens);
  l.recomputation.kind = Recompute::kNone;
  EXPECT_EQ(kept(), all);
}

TEST(Memory, PartsSumToTheTotal) {
  LayoutSpec l = main_layout(1, 1);
  l.sharding.zero = 3;
  l.recomputation.kind = Recompute::kFull;
  const MemoryUse use = memory_use(llama3_70b(), l);
  std::uint64_t sum = 0;
  for (const MemoryPart& p : memory_parts(use)) sum += count(p.bytes);
  EXPECT_EQ(sum, count(use.total()));
  EXPECT_GT(count(use.reserved()), count(use.allocated()));
}

TEST(Memory, EachCommunicatorTakesItsBuffers) {
  LayoutSpec l = main_layout(1, 1);
  const double one = gigabytes(memory_use(llama3_70b(), l).workspace);  // TP and DP
  const double two = gigabytes(memory_use(llama3_70b(), main_layout(4, 1)).workspace);
  EXPECT_NEAR(two - one, 0.65 * 1.0737, 0.01);
}

// Unequal chunks: the peak is that of the chunks in flight, not of the largest chunk as often.
TEST(Memory, UnequalChunksCountEachForItself) {
  LayoutSpec l = main_layout(4, 5);
  const double equal = static_cast<double>(count(stage_memory(llama3_70b(), l, 0).activations));
  EXPECT_NEAR(equal / static_cast<double>(most_activation_bytes(llama3_70b(), l)), chunks_in_flight(l, 0) * 4, 1e-6);
  l.split.chunk_layers[0] = 2;
  l.split.chunk_layers[1] = 6;  // of the next stage
  const double less = static_cast<double>(count(stage_memory(llama3_70b(), l, 0).activations));
  EXPECT_NEAR(less / equal, (23 * 4 - 7 * 2) / (23.0 * 4), 1e-6);  // 7 of the 23 passes in flight are of that chunk
}

TEST(Memory, GPipeHoldsEveryMicroBatch) {
  LayoutSpec l = main_layout(4, 1);
  l.schedule = PipelineSchedule::kGPipe;
  EXPECT_EQ(chunks_in_flight(l, 3), l.micro_batches());
}

TEST(Memory, RecomputationIsChosenOnlyAsFarAsNeeded) {
  const LayoutSpec l = main_layout(1, 1);
  EXPECT_EQ(least_recomputation(llama3_70b(), l, Bytes{400'000'000'000}).recomputation.kind, Recompute::kNone);
  const LayoutSpec some = least_recomputation(llama3_70b(), l, Bytes{65'000'000'000});
  EXPECT_EQ(some.recomputation.kind, Recompute::kFull);
  EXPECT_GT(some.recomputation.layers, 0u);
  EXPECT_LE(gigabytes(memory_use(llama3_70b(), some).total()), 65);
  LayoutSpec less = some;
  --less.recomputation.layers;
  if (less.recomputation.layers > 0) EXPECT_GT(gigabytes(memory_use(llama3_70b(), less).total()), 65);
}

// A forward pass takes what the backward pass at the same time gives back.
TEST(Memory, PairsOfPassesKeepNoMoreChunksThanPassesInTurn) {
  LayoutSpec l = small_layout(2, 4, 2, 4, 16);
  const std::uint32_t in_turn = chunks_in_flight(l, 1);
  l.experts.overlap = 0.9;
  EXPECT_EQ(chunks_in_flight(l, 1), in_turn);
}

}  // namespace
}  // namespace busbar::workload
