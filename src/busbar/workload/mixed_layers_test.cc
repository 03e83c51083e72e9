// Models whose layers are of several kinds.
#include <gtest/gtest.h>

#include "busbar/workload/build_program.h"
#include "busbar/workload/internal/buckets.h"
#include "busbar/workload/layer_times.h"
#include "busbar/workload/memory.h"
#include "busbar/workload/test_models.h"

namespace busbar::workload {
namespace {

LayerKind of_mixer(MixerSpec mixer, std::uint32_t ffn, bool experts) {
  LayerKind kind;
  kind.mixer = mixer;
  kind.ffn = ffn;
  kind.experts = experts;
  return kind;
}

MixerSpec state_mixer(StateRule rule) {
  MixerSpec x;
  x.kind = MixerKind::kState;
  x.state = {.rule = rule, .heads = 16, .key_heads = 8, .key_dim = 64, .value_dim = 64, .conv = 4};
  return x;
}

MixerSpec no_mixer() {
  MixerSpec x;
  x.kind = MixerKind::kNone;
  return x;
}

/// Eight layers: Mamba-2 alone, experts alone, attention alone, a delta rule with an MLP, and so again.
ModelSpec hybrid() {
  ModelSpec m = small_experts();
  m.name = "hybrid";
  m.moe.dense_layers = 0;
  m.moe.hidden = 512;
  m.kinds = {of_mixer(state_mixer(StateRule::kMamba), 0, false), of_mixer(no_mixer(), 0, true),
             of_mixer(plain_mixer(m), 0, false), of_mixer(state_mixer(StateRule::kDelta), m.ffn, false)};
  m.kind_of = {0, 1, 2, 3, 0, 1, 2, 3, 2};
  return m;
}

LayoutSpec hybrid_layout(std::uint32_t pp, PipelineSchedule schedule, std::uint32_t cp = 1) {
  LayoutSpec l;
  l.tp = 2, l.pp = pp, l.dp = 4, l.ep = 4, l.cp = cp, l.batch.seq = 1024, l.batch.global = 64, l.schedule = schedule;
  if (pp == 4) l.split.chunk_layers = {1, 3, 3, 1};
  return resolve_layout(l, hybrid(), 0).value();
}

TEST(MixedLayers, AModelIsTheSumOfItsLayers) {
  const ModelSpec m = hybrid();
  ASSERT_TRUE(check_model(m).ok());
  const LayerTable table = layer_table(m);
  std::uint64_t sum = 2 * embedding_parameters(m) + m.hidden;
  for (std::uint32_t i = 0; i < m.layers; ++i) sum += layer_parameters(m, table.kind(i));
  EXPECT_EQ(parameter_count(m), sum);
  EXPECT_EQ(expert_layers(m), 2u);
  // Mamba-2: input to values, gate, keys, queries and steps; convolution; output; decay, skip, step bias; norms.
  const std::uint64_t h = 1024, values = 16 * 64, keys = 8 * 64, convolved = values + 2 * keys;
  EXPECT_EQ(layer_parameters(m, m.kinds[0]),
            h * (2 * values + 2 * keys + 16) + 4 * convolved + values * h + 3 * 16 + values + h);
}

TEST(MixedLayers, ExpertsOfANarrowedTokenAreNarrow) {
  ModelSpec m = hybrid();
  EXPECT_EQ(expert_parameters(m), 3u * 512 * 1024);
  EXPECT_EQ(router_parameters(m), 1024u * 16 + 2u * 1024 * 512);
  const auto copies = [&] {
    const LayoutSpec l = hybrid_layout(1, PipelineSchedule::k1F1B);
    return step_times(m, l, flat_kernels()).experts.in;
  };
  const Duration narrow = copies();
  m.moe.hidden = 0;
  EXPECT_NEAR(copies().in_us() / narrow.in_us(), 2, 0.2);
}

TEST(MixedLayers, StatesTakeTimeLinearInTheSequenceAndScoresQuadratic) {
  const ModelSpec m = hybrid();
  LayoutSpec l = hybrid_layout(1, PipelineSchedule::k1F1B);
  const auto core = [&](std::uint32_t seq, std::size_t kind) {
    l.batch.seq = seq;
    return step_times(m, l, flat_kernels()).kinds[kind].mixer.core.in_us();
  };
  for (const std::size_t states : {0u, 3u}) EXPECT_NEAR(core(65'536, states) / core(32'768, states), 2, 0.05);
  EXPECT_NEAR(core(65'536, 2) / core(32'768, 2), 4, 0.1);
  EXPECT_EQ(mixer_flops(m.kinds[0].mixer, 1024, 4096).states, mixer_flops(m.kinds[0].mixer, 1024, 65'536).states);
  EXPECT_GT(core(65'536, 3), core(65'536, 0)) << "a delta rule solves a system for each chunk";
}

TEST(MixedLayers, AnIndexerLimitsTheKeysThatATokenSees) {
  MixerSpec x = plain_mixer(small_model());
  x.indexer = {.heads = 4, .dim = 32, .keys = 2048};
  EXPECT_EQ(key_share(x, 2048), 1);
  EXPECT_NEAR(key_share(x, 65'536), 2.0 * 2048 / 65'536, 0.002);
  x.window = 128;
  EXPECT_EQ(key_share(x, 65'536), window_share(128, 65'536));
}

TEST(MixedLayers, InferenceKeepsKeysOfWindowsAndStatesOfAFixedSize) {
  ModelSpec m = hybrid();
  const std::uint64_t keys = 2 * 2 * 8 * 64;  // of one attention layer and token: 8 heads of 64, keys and values
  const std::uint64_t states = 4 * 16 * 64 * 64 + 2 * 3 * (16 * 64 + 2 * 8 * 64);
  EXPECT_EQ(cache_bytes(m, 1000), 2 * 1000 * keys + 4 * states);
  m.kinds[2].mixer.window = 128;
  EXPECT_EQ(cache_bytes(m, 1000), 2 * 128 * keys + 4 * states);
}

TEST(MixedLayers, StagesHoldTheParametersOfTheirOwnLayers) {
  const ModelSpec m = hybrid();
  const LayoutSpec l = hybrid_layout(4, PipelineSchedule::k1F1B);
  for (std::uint32_t s = 0; s < 4; ++s) {
    std::uint64_t planned = 0;
    const BucketPlan plan = plan_buckets(m, l, s, 0);
    for (const std::uint64_t n : plan.tensor_parameters) planned += n;
    EXPECT_EQ(stage_parameters(m, l, s), planned);
    EXPECT_EQ(stage_expert_parameters(m, l, s), plan.expert_parameters());
  }
  EXPECT_EQ(stage_expert_parameters(m, l, 0), 0u);
  EXPECT_GT(stage_expert_parameters(m, l, 1), 0u);
  EXPECT_GT(count(memory_use(m, l).total()), 0u);
}

// Every layer's forward and backward work appears once for each micro-batch, whatever the schedule.
TEST(MixedLayers, ProgramsHaveTheWorkOfAllLayers) {
  const ModelSpec m = hybrid();
  for (const PipelineSchedule schedule : {PipelineSchedule::k1F1B, PipelineSchedule::kZbH1}) {
    const LayoutSpec l = hybrid_layout(4, schedule);
    const StepTimes t = step_times(m, l, flat_kernels());
    Duration work, expected;
    for (const program::Op& o : program::expanded(build_program(m, l, t, flat_kernels())).ops)
      if (o.cls == program::OpClass::kCompute) work += o.duration;
    const auto both = [](const auto& b) { return b.forward() + b.backward(); };
    for (std::uint32_t i = 0; i < m.layers; ++i) {
      const LayerKind& kind = t.layers.kind(i);
      expected += both(t.of(i).mixer) + (kind.experts ? both(t.experts) : both(t.of(i).mlp));
    }
    const EndTimes& e = t.ends;
    expected += e.embedding + e.embedding_back + e.head_norm + e.head_norm_back + e.logits + e.logits_dgrad +
                e.logits_wgrad + e.loss + e.loss_back;
    EXPECT_EQ(work, expected * l.micro_batches());
  }
}

TEST(MixedLayers, AllOptionsOfAStepRunWithLayersWithoutAMixerOrAnMlp) {
  const ModelSpec m = hybrid();
  for (const std::uint32_t zero : {0u, 1u, 3u})
    for (const Recompute again : {Recompute::kNone, Recompute::kFull}) {
      LayoutSpec l = hybrid_layout(1, PipelineSchedule::k1F1B);
      l.sharding.zero = zero, l.recomputation.kind = again;
      l = resolve_layout(l, m, 0).value();
      EXPECT_TRUE(build_program(m, l, flat_kernels()).ok());
    }
}

// Ranks of a sequence hand on states: their size does not depend on the sequence.
TEST(MixedLayers, ContextParallelRanksExchangeStatesOrKeys) {
  const ModelSpec m = hybrid();
  const LayoutSpec l = hybrid_layout(1, PipelineSchedule::k1F1B, 2);
  const program::Program p = build_program(m, l, flat_kernels()).value();
  const std::uint64_t states = 4ull * 8 * 64 * 64 * 2;  // fp32, heads of a rank, both ranks
  bool found = false;
  for (const program::CollectiveCall& c : p.calls)
    found |= c.op == collectives::Collective::kAllGather && count(c.bytes) == states;
  EXPECT_TRUE(found);
}

TEST(MixedLayers, ListsThatContradictThemselvesAreRefused) {
  ModelSpec m = hybrid();
  m.kind_of.pop_back();
  EXPECT_FALSE(check_model(m).ok());
  m = hybrid();
  m.kind_of[3] = 9;
  EXPECT_FALSE(check_model(m).ok());
  m = hybrid();
  m.kinds[0].mixer.state.key_heads = 0;
  EXPECT_FALSE(check_model(m).ok());
  m = hybrid();
  m.moe = {};
  EXPECT_FALSE(check_model(m).ok());
}

}  // namespace
}  // namespace busbar::workload
