// Traffic of each kind of parallelism: bytes and operations of programs against published counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "busbar/base/id.h"
#include "busbar/program/test_passes.h"
#include "busbar/workload/build_program.h"
#include "busbar/workload/internal/buckets.h"
#include "busbar/workload/internal/pipeline_order.h"
#include "busbar/workload/internal/rank_groups.h"
#include "busbar/workload/memory.h"
#include "busbar/workload/test_models.h"

namespace busbar::workload {
namespace {

struct Moved {
  double bytes = 0;
  std::uint32_t times = 0;
};
Moved moved(const program::Program& p, program::OpClass cls, collectives::Collective op) {
  Moved out;
  const program::Program all = program::expanded(p);
  for (const program::Op& o : all.ops) {
    if (o.kind != program::OpKind::kCollective || o.cls != cls) continue;
    const program::CollectiveCall& call = p.calls[index(o.call)];
    if (call.op != op) continue;
    out.bytes += static_cast<double>(count(call.bytes));
    ++out.times;
  }
  return out;
}

Duration compute_of(const program::Program& p) {
  Duration sum;
  const program::Program all = program::expanded(p);
  for (const program::Op& o : all.ops)
    if (o.kind == program::OpKind::kDelay && o.cls == program::OpClass::kCompute) sum += o.duration;
  return sum;
}

/// 16 ranks, `batches` micro-batches of the small model each.
LayoutSpec layout_with(std::uint32_t zero, std::uint32_t batches) {
  LayoutSpec l;
  l.sharding.zero = zero;
  l.dp = 16;
  l.batch.seq = 1024;
  l.recomputation.kind = Recompute::kNone;
  l.exchange.gradient_bytes = 2;
  l.batch.global = 16 * batches;
  return l;
}

program::Program program_of(const LayoutSpec& l) {
  const auto resolved = resolve_layout(l, small_model(), 0);
  EXPECT_TRUE(resolved.ok()) << resolved.error().text();
  auto p = build_program(small_model(), *resolved, flat_kernels());
  EXPECT_TRUE(p.ok());
  return std::move(p).value();
}

// FSDP, per micro-batch: gathers of 2 P forward and 2 P backward, a scatter of g P. The last unit of the forward pass
// (the head) is still present in backward, and the embedding's gradient needs no table.
TEST(FullySharded, MovesParametersTwiceAndGradientsOncePerMicroBatch) {
  const program::Program p = program_of(layout_with(3, 3));
  const double all = static_cast<double>(parameter_count(small_model())), table = 32000.0 * 1024;
  const double forward = 2 * all, backward = 2 * (all - 2 * table - 1024);
  EXPECT_NEAR(moved(p, program::OpClass::kDp, collectives::Collective::kAllGather).bytes / (3 * (forward + backward)),
              1, 1e-3);
  EXPECT_NEAR(moved(p, program::OpClass::kDp, collectives::Collective::kReduceScatter).bytes / (3 * 2 * all), 1, 1e-3);
  LayoutSpec kept = layout_with(3, 3);
  kept.sharding.reshard = false;
  EXPECT_NEAR(moved(program_of(kept), program::OpClass::kDp, collectives::Collective::kAllGather).bytes / (3 * forward),
              1, 1e-3);
}

TEST(FullySharded, ZeroTwoReducesEveryMicroBatchAndGathersOnce) {
  const program::Program p = program_of(layout_with(2, 3));
  const double all = static_cast<double>(parameter_count(small_model()));
  EXPECT_NEAR(moved(p, program::OpClass::kDp, collectives::Collective::kReduceScatter).bytes / (3 * 2 * all), 1, 1e-3);
  EXPECT_NEAR(moved(p, program::OpClass::kDp, collectives::Collective::kAllGather).bytes / (2 * all), 1, 1e-3);
}

/// Stages of the small model, `batches` micro-batches each over 4 replicas.
LayoutSpec staged_layout(std::uint32_t zero, std::uint32_t pp, std::uint32_t vpp, std::uint32_t batches) {
  LayoutSpec l = layout_with(zero, batches);
  l.pp = pp, l.vpp = vpp, l.dp = 4;
  l.batch.global = 4 * batches;
  return l;
}

/// Total bytes of the calls of one stage, of this kind.
double moved_by(const program::Program& p, std::uint32_t stage, collectives::Collective op) {
  double bytes = 0;
  for (const program::Op& o : p.ops) {
    if (o.kind != program::OpKind::kCollective || o.cls != program::OpClass::kDp || index(o.role) != stage) continue;
    const program::CollectiveCall& call = p.calls[index(o.call)];
    if (call.op == op) bytes += static_cast<double>(count(call.bytes));
  }
  return bytes;
}

// Each stage gathers its own parameters for every forward and every backward pass, and scatters its gradients after
// every backward pass. A stage has two layers. The first also has the embedding, which backward does not need, the last
// the head. If a backward pass follows a forward pass (1F1B: all except the warm-up passes), its first unit is still
// there.
TEST(FullySharded, EveryStageGathersItsOwnParametersForEveryPass) {
  const std::uint32_t batches = 6, pp = 4;
  const program::Program p = program_of(staged_layout(3, pp, 1, batches));
  const double all = static_cast<double>(parameter_count(small_model())), table = 32000.0 * 1024;
  const double layer = (all - 2 * table - 1024) / 8;
  for (std::uint32_t s = 0; s < pp; ++s) {
    const double ends = s == 0 || s + 1 == pp ? table : 0, still_there = s + 1 == pp ? 0 : layer;
    const double warmup = pp - 1 - s, gathered = batches * (4 * layer + ends) - (batches - warmup) * still_there;
    EXPECT_NEAR(moved_by(p, s, collectives::Collective::kAllGather) / (2 * gathered), 1, 1e-3) << s;
    EXPECT_NEAR(moved_by(p, s, collectives::Collective::kReduceScatter) / (2 * batches * (2 * layer + ends)), 1, 1e-3)
        << s;
  }
}

TEST(FullySharded, WithStagesKeptParametersAreGatheredOnceAStep) {
  for (const auto& [pp, vpp] : {std::pair{4u, 1u}, std::pair{2u, 2u}}) {
    LayoutSpec l = staged_layout(3, pp, vpp, 6);
    l.sharding.reshard = false;
    const program::Program p = program_of(l);
    const double all = static_cast<double>(parameter_count(small_model()));
    EXPECT_NEAR(moved(p, program::OpClass::kDp, collectives::Collective::kAllGather).bytes / (2 * all), 1, 1e-3);
    EXPECT_NEAR(moved(p, program::OpClass::kDp, collectives::Collective::kReduceScatter).bytes / (6 * 2 * all), 1,
                1e-3);
  }
}

TEST(FullySharded, ZeroTwoReducesEveryPassOfEveryStageOrOnceWhereGradientsAddUp) {
  const double all = static_cast<double>(parameter_count(small_model()));
  for (const std::uint32_t zero : {2u, 3u}) {
    for (const auto& [pp, vpp] : {std::pair{4u, 1u}, std::pair{2u, 2u}, std::pair{1u, 1u}}) {
      for (const bool overlap : {true, false}) {
        LayoutSpec l = staged_layout(zero, pp, vpp, 6);
        l.overlap.grad_reduce = overlap;
        EXPECT_NEAR(
            moved(program_of(l), program::OpClass::kDp, collectives::Collective::kReduceScatter).bytes / (6 * 2 * all),
            1, 1e-3);
        l.sharding.accumulate_gradients = true;
        EXPECT_NEAR(
            moved(program_of(l), program::OpClass::kDp, collectives::Collective::kReduceScatter).bytes / (2 * all), 1,
            1e-3);
      }
    }
  }
}

// GPipe's backward passes start with the newest micro-batch. Only that one's last unit is still present.
TEST(FullySharded, GPipeGathersTheLastUnitAgainForAllButItsNewestMicroBatch) {
  LayoutSpec l = staged_layout(3, 4, 1, 6);
  l.schedule = PipelineSchedule::kGPipe;
  const double all = static_cast<double>(parameter_count(small_model())), table = 32000.0 * 1024;
  const double layer = (all - 2 * table - 1024) / 8;
  EXPECT_NEAR(moved_by(program_of(l), 1, collectives::Collective::kAllGather) / (2 * layer * (6 * 2 * 2 - 1)), 1, 1e-3);
}

TEST(FullySharded, ATiedEmbeddingIsAddedUpShardByShard) {
  ModelSpec tied = small_model();
  tied.tied_embeddings = true;
  const auto bytes = [&](std::uint32_t zero) {
    const auto l = resolve_layout(staged_layout(zero, 4, 1, 6), tied, 0);
    const program::Program p = build_program(tied, *l, flat_kernels()).value();
    return moved(p, program::OpClass::kDp, collectives::Collective::kAllReduce).bytes -
           4;  // the sum of norms is one fp32
  };
  EXPECT_DOUBLE_EQ(bytes(1), 2 * 32000.0 * 1024);
  EXPECT_DOUBLE_EQ(bytes(3), bytes(1) / 4);
}

TEST(FullySharded, ZeroNothingReducesAllOnce) {
  const program::Program p = program_of(layout_with(0, 3));
  EXPECT_NEAR(moved(p, program::OpClass::kDp, collectives::Collective::kAllReduce).bytes /
                  (2.0 * parameter_count(small_model())),
              1, 1e-3);
  EXPECT_EQ(moved(p, program::OpClass::kDp, collectives::Collective::kAllGather).times, 0u);
}

// InternEvo: gradients leave by bucket, parameters come back tensor by tensor.
TEST(ShardedOptimizer, WholeTensorsAreReducedByBucketAndBroadcastOneByOne) {
  LayoutSpec l = layout_with(1, 2);
  l.sharding.whole_tensors = true;
  l.exchange.bucket_parameters = parameter_count(small_model()) / 3;
  const program::Program p = program_of(l);
  const double all = static_cast<double>(parameter_count(small_model()));
  EXPECT_EQ(moved(p, program::OpClass::kDp, collectives::Collective::kReduce).times, 3u);
  EXPECT_EQ(moved(p, program::OpClass::kDp, collectives::Collective::kBroadcast).times,
            4u * 8 + 2);  // four per layer, embedding, head
  EXPECT_NEAR(moved(p, program::OpClass::kDp, collectives::Collective::kReduce).bytes / (2 * all), 1, 1e-3);
  EXPECT_NEAR(moved(p, program::OpClass::kDp, collectives::Collective::kBroadcast).bytes / (2 * all), 1, 1e-3);
}

// HSDP: shards inside groups of 4, copies across them; each rank's quarter of the gradients is reduced over 4 copies.
TEST(FullySharded, HybridShardsReduceTheirPartOverTheCopies) {
  LayoutSpec l = layout_with(3, 2);
  l.sharding.group = 4;
  const program::Program p = program_of(l);
  const double all = static_cast<double>(parameter_count(small_model()));
  EXPECT_NEAR(moved(p, program::OpClass::kDp, collectives::Collective::kReduceScatter).bytes / (2 * 2 * all), 1, 1e-3);
  double spread = 0;
  for (const program::Op& o : p.ops) {
    if (o.kind != program::OpKind::kCollective) continue;
    const program::CollectiveCall& c = p.calls[index(o.call)];
    if (c.op == collectives::Collective::kAllReduce && c.groups.size() == 4)
      spread += static_cast<double>(count(c.bytes));
  }
  EXPECT_NEAR(spread / (2 * all / 4), 1, 1e-3);
}

// Ring attention: forward receives K and V of all others, backward also their gradients: S = 2 x 2 s b kv d bytes.
TEST(ContextParallel, RingMovesKeysAndValuesOnceForwardAndTwiceBackward) {
  LayoutSpec l = layout_with(1, 2);
  l.cp = 4;
  l.dp = 4;
  l.batch.global = 8;
  const double keys = 2 * 2 * 1024.0 * 8 * 64, layers = 8 * 2;
  EXPECT_NEAR(
      moved(program_of(l), program::OpClass::kCp, collectives::Collective::kAllGather).bytes / (3 * layers * keys), 1,
      1e-3);
  l.context = ContextParallel::kAllGather;
  const program::Program p = program_of(l);
  EXPECT_NEAR(moved(p, program::OpClass::kCp, collectives::Collective::kAllGather).bytes / (2 * layers * keys), 1,
              1e-9);
  EXPECT_NEAR(moved(p, program::OpClass::kCp, collectives::Collective::kReduceScatter).bytes / (layers * keys), 1,
              1e-9);
}

// Source: DeepSpeed-Ulysses, arXiv:2309.14509, section 3.2: Q, K, V and the output of a rank's tokens, forward and
// back.
TEST(ContextParallel, AllToAllMovesQueriesKeysValuesAndOutputs) {
  LayoutSpec l = layout_with(1, 2);
  l.cp = 4, l.dp = 4, l.batch.global = 8;
  l.context = ContextParallel::kAllToAll;
  const double one_head = 2 * 256.0 * 64, layers = 8 * 2;
  EXPECT_EQ(moved(program_of(l), program::OpClass::kCp, collectives::Collective::kAllToAll).bytes,
            2 * layers * one_head * (2 * 16 + 2 * 8));
  l.cp = 16, l.dp = 1, l.batch.global = 2;  // 8 key-value heads for 16 ranks: each is sent twice
  EXPECT_EQ(moved(program_of(l), program::OpClass::kCp, collectives::Collective::kAllToAll).bytes,
            2 * layers * (one_head / 4) * (2 * 16 + 2 * 16));
  l.cp = 32;
  EXPECT_FALSE(resolve_layout(l, small_model(), 0).ok());
}

TEST(ContextParallel, CutsTheWorkOfEachRankAndKeepsGradientsWhole) {
  KernelTable k = flat_kernels();
  k.memory_bytes_per_s = 1e30;
  LayoutSpec l = layout_with(1, 2);
  const Duration one = compute_of(build_program(small_model(), *resolve_layout(l, small_model(), 0), k).value());
  l.cp = 4;
  const auto four = build_program(small_model(), *resolve_layout(l, small_model(), 0), k);
  EXPECT_NEAR(one.in_us() / compute_of(*four).in_us(), 4, 1e-3);
  for (const program::CollectiveCall& c : four->calls)
    if (c.op == collectives::Collective::kReduceScatter) EXPECT_EQ(c.groups.size(), 64u);  // DP x CP
}

TEST(Recomputation, FullRunsEveryForwardTwice) {
  LayoutSpec l = layout_with(1, 2);
  const StepTimes t = step_times(small_model(), l, flat_kernels());
  const Duration forward = t.kinds[0].mixer.forward() + t.kinds[0].mlp.forward();
  const Duration none = compute_of(program_of(l));
  l.recomputation.kind = Recompute::kFull;
  EXPECT_EQ(compute_of(program_of(l)) - none, forward * (8 * 2));
  l.recomputation.layers = 3;
  EXPECT_EQ(compute_of(program_of(l)) - none, forward * (3 * 2));
  l.recomputation.early_stop = true;  // backward does not need the last GEMM of a layer
  EXPECT_EQ(compute_of(program_of(l)) - none, (forward - t.kinds[0].mlp.out) * (3 * 2));
}

TEST(DataParallel, CopiesOfShardsTakeTheTimeOfTheirBytesInEveryMicroBatch) {
  LayoutSpec l = layout_with(3, 2);
  const Duration none = compute_of(program_of(l));
  l.sharding.copy_bytes = 14;
  const double parameters = static_cast<double>(parameter_count(small_model()));
  const double seconds = 2 * 14 * parameters / (flat_kernels().memory_bytes_per_s * flat_kernels().memory_share);
  EXPECT_NEAR((compute_of(program_of(l)) - none).in_s(), seconds, 0.01 * seconds);
  l.sharding.zero = 1;  // nothing is gathered
  LayoutSpec whole = l;
  whole.sharding.copy_bytes = 0;
  EXPECT_EQ(compute_of(program_of(l)), compute_of(program_of(whole)));
}

TEST(Pipeline, GPipeGoesBackFromTheNewestMicroBatch) {
  const auto order = gpipe_order(3);
  ASSERT_EQ(order.size(), 6u);
  EXPECT_TRUE(order[2].forward && order[2].micro_batch == 2);
  EXPECT_TRUE(!order[3].forward && order[3].micro_batch == 2);
  EXPECT_EQ(order[5].micro_batch, 0u);
}

// In every rank order the groups of each kind cover all ranks of a stage exactly once.
TEST(RankGroups, EveryKindCoversItsStageOnce) {
  RankOrder order = kTpCpDpPp;
  std::sort(order.begin(), order.end());
  do {
    LayoutSpec l;
    l.tp = 2, l.cp = 3, l.dp = 4, l.pp = 5, l.rank_order = order, l.sharding.group = 6;
    std::set<std::uint32_t> machine;
    for (std::uint32_t s = 0; s < l.pp; ++s) {
      std::set<std::uint32_t> stage;
      const collectives::GroupFamily all = stage_ranks(l, s);
      for (std::uint32_t m = 0; m < all.size(); ++m) stage.insert(all.actor(0, m));
      EXPECT_EQ(stage.size(), 24u);
      machine.insert(stage.begin(), stage.end());
      for (const auto& [family, size] :
           {std::pair{tp_groups(l, s), 2u}, std::pair{cp_groups(l, s), 3u}, std::pair{dp_groups(l, s), 12u},
            std::pair{shard_groups(l, s), 6u}, std::pair{copy_groups(l, s), 2u}}) {
        EXPECT_EQ(family.size(), size);
        std::set<std::uint32_t> seen;
        for (std::uint32_t g = 0; g < family.groups(); ++g)
          for (std::uint32_t m = 0; m < family.size(); ++m) EXPECT_TRUE(seen.insert(family.actor(g, m)).second);
        EXPECT_EQ(seen, stage);
      }
    }
    EXPECT_EQ(machine.size(), 120u);
    EXPECT_EQ(*machine.rbegin(), 119u);
    const auto has_adjacent_ranks = [&](ParallelAxis axis) { return order[0] == axis; };
    EXPECT_EQ(tp_groups(l, 0).actor(0, 1) == 1, has_adjacent_ranks(ParallelAxis::kTp));
    EXPECT_EQ(cp_groups(l, 0).actor(0, 1) == 1, has_adjacent_ranks(ParallelAxis::kCp));
    EXPECT_EQ(stage_pairs(l, 0, 1).actor(0, 1) == 1, has_adjacent_ranks(ParallelAxis::kPp));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Offload, MovesKeptTensorsDownAndUpOncePerLayerAndMicroBatch) {
  LayoutSpec l = layout_with(1, 2);
  l.offload.activations = true;
  l = resolve_layout(l, small_model(), 0).value();
  KernelTable k = flat_kernels();
  EXPECT_FALSE(build_program(small_model(), l, k).ok());  // no rate to the host is known
  k.host_bytes_per_s = 50e9;
  const auto p = build_program(small_model(), l, k);
  ASSERT_TRUE(p.ok());
  int copies = 0;
  for (const program::Op& o : p->ops)
    if (o.kind == program::OpKind::kDelay && o.stream == 5) ++copies;
  EXPECT_EQ(copies, 2 * 8 * 2);
}

// Of a layer that is recomputed only the input was kept.
TEST(Offload, MovesOnlyTheInputsOfLayersThatAreRecomputed) {
  LayoutSpec l = layout_with(1, 2);
  l.offload.activations = true;
  l.recomputation.kind = Recompute::kFull;
  l = resolve_layout(l, small_model(), 0).value();
  KernelTable k = flat_kernels();
  k.host_bytes_per_s = 50e9;
  const program::Program p = build_program(small_model(), l, k).value();
  const double us = 1e6 * static_cast<double>(checkpoint_bytes_per_layer(small_model(), l)) / 50e9;
  int copies = 0;
  for (const program::Op& o : p.ops) {
    if (o.kind != program::OpKind::kDelay || o.stream != 5) continue;
    EXPECT_NEAR(o.duration.in_us(), us, 1e-3 * us);
    ++copies;
  }
  EXPECT_EQ(copies, 2 * 8 * 2);
}

TEST(Offload, GoesToTheRankOfTheHostMemoryWhereThereIsOne) {
  LayoutSpec l = layout_with(1, 2);
  l.offload.activations = l.offload.optimizer = true;
  l = resolve_layout(l, small_model(), 0).value();
  KernelTable k = flat_kernels();
  k.host_bytes_per_s = 50e9;
  k.host_ranks = 100;
  const program::Program p = program::expanded(build_program(small_model(), l, k).value());
  int out = 0, in = 0, states = 0;
  for (const program::Op& o : p.ops) {
    if (o.kind != program::OpKind::kCollective || p.calls[index(o.call)].op != collectives::Collective::kSendRecv)
      continue;
    const program::CollectiveCall& c = p.calls[index(o.call)];
    const std::uint32_t from = c.groups.actor(0, 0), to = c.groups.actor(0, 1);
    ASSERT_EQ(c.groups.size(), 2u);
    EXPECT_EQ(c.groups.groups(), l.ranks());
    EXPECT_EQ(std::max(from, to), std::min(from, to) + 100);
    if (o.stream == 5) {
      EXPECT_EQ(count(c.bytes), most_activation_bytes(small_model(), l));
      ++(from < to ? out : in);
    } else {
      ++states;
    }
  }
  EXPECT_EQ(out, 8 * 2);
  EXPECT_EQ(in, 8 * 2);
  EXPECT_EQ(states, 2);  // gradients down, parameters up
}

TEST(Precision, UnitsThatTheGpuDoesNotHaveAreRefused) {
  LayoutSpec l = layout_with(1, 1);
  l.precision = Precision::kFp4;
  const auto p = build_program(small_model(), resolve_layout(l, small_model(), 0).value(), flat_kernels());
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.error().text().find("no fp4 matrix units"), std::string::npos);
}

/// Bytes of the DP calls of one kind in one step of one role, as nccl-tests counts them.
double dp_bytes(const LayoutSpec& l, collectives::Collective op, std::uint32_t ranks) {
  const program::Program p = program::expanded(build_program(small_model(), l, flat_kernels()).value());
  double sum = 0;
  for (const program::Op& o : p.ops) {
    if (o.kind != program::OpKind::kCollective || o.cls != program::OpClass::kDp) continue;
    const program::CollectiveCall& c = p.calls[index(o.call)];
    if (c.op == op && c.groups.size() == ranks) sum += static_cast<double>(count(c.bytes));
  }
  return sum;
}

// An all-to-all of compressed pieces instead of a reduce-scatter; without shards the sums go to all ranks.
TEST(Compression, SendsItsBytesPerGradientInsteadOfTheReduction) {
  LayoutSpec l = small_layout(1, 1, 1, 8, 2);
  const double gradients = dp_bytes(l, collectives::Collective::kReduceScatter, 8);
  l.exchange.compression.bytes = 0.5;
  EXPECT_EQ(dp_bytes(l, collectives::Collective::kReduceScatter, 8), 0);
  EXPECT_NEAR(dp_bytes(l, collectives::Collective::kAllToAll, 8), gradients * 0.5 / l.exchange.gradient_bytes, 8);
  l.sharding.zero = 0;
  const double whole = dp_bytes(l, collectives::Collective::kAllToAll, 8);
  EXPECT_GE(dp_bytes(l, collectives::Collective::kAllGather, 8), whole);
  l.exchange.compression.exchange = CompressedExchange::kAllGather;  // each rank's choice goes to all
  EXPECT_NEAR(dp_bytes(l, collectives::Collective::kAllGather, 8), 8 * whole, 64);
  l.exchange.compression.exchange = CompressedExchange::kAllReduce;  // two factors
  EXPECT_EQ(dp_bytes(l, collectives::Collective::kAllToAll, 8), 0);
  EXPECT_NEAR(dp_bytes(l, collectives::Collective::kAllReduce, 8), whole, 64);
}

// Inside nodes of four first: then each rank has a quarter of its node's sums to exchange with other nodes.
TEST(Compression, GoesInsideNodesFirst) {
  LayoutSpec l = small_layout(1, 1, 1, 8, 2);
  l.exchange.compression.bytes = 0.5;
  const double once = dp_bytes(l, collectives::Collective::kAllToAll, 8);
  KernelTable k = flat_kernels();
  k.scale_up_gpus = 4;
  double inside = 0, across = 0;
  const program::Program p = program::expanded(build_program(small_model(), l, k).value());
  for (const program::Op& o : p.ops) {
    if (o.kind != program::OpKind::kCollective || p.calls[index(o.call)].op != collectives::Collective::kAllToAll)
      continue;
    const program::CollectiveCall& c = p.calls[index(o.call)];
    const bool near = c.groups.actor(0, 1) == 1;
    EXPECT_EQ(c.groups.size(), near ? 4u : 2u);
    (near ? inside : across) += static_cast<double>(count(c.bytes));
  }
  EXPECT_EQ(inside, once);
  EXPECT_NEAR(across, once / 4, 8);
}

TEST(Compression, ItsKernelsTakeTheTimeOfTheirBytes) {
  LayoutSpec l = small_layout(1, 1, 1, 8, 2);
  const auto work = [&] {
    Duration sum;
    for (const program::Op& o : program::expanded(build_program(small_model(), l, flat_kernels()).value()).ops)
      if (o.kind == program::OpKind::kDelay && o.cls == program::OpClass::kDp) sum += o.duration;
    return sum.in_s();
  };
  EXPECT_EQ(work(), 0);
  l.exchange.compression.bytes = 1;
  const double elements = dp_bytes(l, collectives::Collective::kAllToAll, 8);
  EXPECT_NEAR(work(), flat_kernels().memory_time(elements * (l.exchange.gradient_bytes + 2)).in_s(), 1e-9);
  l.exchange.compression.work = 100;
  EXPECT_NEAR(work(), flat_kernels().memory_time(elements * 100).in_s(), 1e-9);
}

// ZeRO++ hpZ: parameters cross all ranks before forward, and four ranks before backward.
TEST(Compression, ASecondCopyServesTheBackwardPass) {
  LayoutSpec l = small_layout(1, 1, 1, 8, 2);
  l.sharding.zero = 3;
  l = resolve_layout(l, small_model(), 0).value();
  const double both = dp_bytes(l, collectives::Collective::kAllGather, 8);
  l.sharding.secondary = 4;
  const double forward = dp_bytes(l, collectives::Collective::kAllGather, 8),
               backward = dp_bytes(l, collectives::Collective::kAllGather, 4);
  EXPECT_EQ(forward + backward, both);
  EXPECT_GT(backward, 0.3 * both);
  EXPECT_GT(count(stage_memory(small_model(), l, 0).total()), count(stage_memory(
                                                                        small_model(),
                                                                        [&] {
                                                                          LayoutSpec n = l;
                                                                          n.sharding.secondary = 0;
                                                                          return n;
                                                                        }(),
                                                                        0)
                                                                        .total()));
}

}  // namespace
}  // namespace busbar::workload
