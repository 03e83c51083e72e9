// Experts: who holds them, what travels, and what they cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "busbar/base/id.h"
#include "busbar/base/random.h"
#include "busbar/program/test_passes.h"
#include "busbar/workload/build_program.h"
#include "busbar/workload/expert_kernels.h"
#include "busbar/workload/expert_load.h"
#include "busbar/workload/internal/buckets.h"
#include "busbar/workload/internal/rank_groups.h"
#include "busbar/workload/layer_times.h"
#include "busbar/workload/memory.h"
#include "busbar/workload/test_models.h"

namespace busbar::workload {
namespace {

LayoutSpec expert_layout(std::uint32_t tp, std::uint32_t dp, std::uint32_t ep, std::uint32_t expert_tp = 0) {
  LayoutSpec l;
  l.tp = tp, l.dp = dp, l.ep = ep, l.expert_tp = expert_tp;
  l.batch.seq = 1024;
  l.recomputation.kind = Recompute::kNone;
  l.batch.global = 2 * dp;
  auto resolved = resolve_layout(l, small_experts(), 0);
  EXPECT_TRUE(resolved.ok()) << resolved.error().text();
  return std::move(resolved).value();
}

double bytes_moved(const program::Program& p, program::OpClass cls, collectives::Collective op) {
  double sum = 0;
  const program::Program all = program::expanded(p);
  for (const program::Op& o : all.ops) {
    if (o.kind != program::OpKind::kCollective || o.cls != cls || p.calls[index(o.call)].op != op) continue;
    sum += static_cast<double>(count(p.calls[index(o.call)].bytes));
  }
  return sum;
}

// Section 3 of the training model: tokens x k x h x 2 bytes out and the same back, both again for gradients.
TEST(Experts, TokensTravelToTheirExpertsAndBackForwardAndBackward) {
  LayoutSpec l = expert_layout(2, 8, 4);
  const double tokens = 512, layers = 7, batches = 2;
  const double once = tokens * 2 * 1024 * 2 * layers * batches;
  const auto all_to_all = [&] {
    const program::Program p = build_program(small_experts(), l, flat_kernels()).value();
    return bytes_moved(p, program::OpClass::kEp, collectives::Collective::kAllToAll);
  };
  l.experts.skew = 0;
  EXPECT_EQ(all_to_all(), 4 * once);
  l.experts.dispatch_bytes = 1;  // fp8 on the way there; gradients and results in bf16
  EXPECT_EQ(all_to_all(), 3.5 * once);
  l.experts.overlap = 0.8;
  EXPECT_EQ(all_to_all(), 3.5 * once);
  l.recomputation.kind = Recompute::kFull;  // the forward pass runs once more
  EXPECT_EQ(all_to_all(), 5 * once);
  l = expert_layout(2, 8, 1);  // every rank has all experts of its TP group: nothing is exchanged
  EXPECT_EQ(all_to_all(), 0);
}

// A rank that is loaded 1.2 times receives 1.2 times as much from each other, and sends as much back. Gradients go the
// same two ways. What all send is what mean loads send.
TEST(Experts, UnevenLoadsTravelByTheMatrixOfTheirPairs) {
  LayoutSpec l = expert_layout(1, 16, 8);
  l.experts.skew = 0.4;
  const std::vector<double> loads = rank_loads(small_experts(), l);
  const program::Program p = build_program(small_experts(), l, flat_kernels()).value();
  std::vector<int> seen(2);
  for (const program::Op& o : program::expanded(p).ops) {
    if (o.kind != program::OpKind::kCollective || o.cls != program::OpClass::kEp) continue;
    const program::CollectiveCall& c = p.calls[index(o.call)];
    ASSERT_EQ(c.op, collectives::Collective::kAllToAllV);
    const bool back =
        c.pairs.count(8, 0, 1) == c.pairs.count(8, 0, 2) && c.pairs.count(8, 0, 1) != c.pairs.count(8, 1, 0);
    ++seen[back ? 1 : 0];
    std::uint32_t most = 0;
    for (std::uint32_t i = 0; i < 8; ++i) {
      std::uint32_t sent = 0;
      for (std::uint32_t j = 0; j < 8; ++j) {
        sent += c.pairs.count(8, i, j);
        EXPECT_NEAR(c.pairs.count(8, i, j) / 256.0, loads[back ? i : j], 0.002);
      }
      most = std::max(most, sent);
    }
    const double mean = 1024 * 2 * 1024 * 2.0;  // tokens x copies x hidden x bytes
    EXPECT_NEAR(static_cast<double>(count(c.bytes)) / mean, most / (8 * 256.0), 1e-6);
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], 2 * 7 * 2);
}

TEST(Experts, LoadsOfRanksHaveTheMeanAndTheLargestOfTheirDistribution) {
  LayoutSpec l = expert_layout(1, 16, 8);
  l.experts.skew = 0.3;
  const auto loads = [&] { return rank_loads(small_experts(), l); };
  const std::vector<double> all = loads();
  EXPECT_NEAR(std::accumulate(all.begin(), all.end(), 0.0) / 8, 1, 1e-12);
  EXPECT_NEAR(*std::max_element(all.begin(), all.end()), expert_load(small_experts(), l).busiest, 1e-12);
  l.experts.capacity = 1.05;
  EXPECT_DOUBLE_EQ(std::ranges::max(loads()), 1.05);
  l.experts.skew = 0;
  EXPECT_EQ(loads(), std::vector<double>(8, 1));
}

// Distinct nodes of k choices among n: n (1 - (1 - 1/n)^k). What stays on the sender's node counts in the all-to-all's
// size, as nccl-tests counts it.
TEST(Experts, OneCopyTravelsToEachNodeAndFromThereToEachGpuThatHasAnExpert) {
  LayoutSpec l = expert_layout(1, 16, 16);
  l.experts.skew = 0, l.experts.exchange = ExpertExchange::kPerNode, l.experts.overlap = 0.8;
  KernelTable k = flat_kernels();
  k.scale_up_gpus = 4;
  const double token_bytes = 1024 * 1024 * 2.0, exchanges = 4 * 7 * 2;
  const program::Program p = build_program(small_experts(), l, k).value();
  double across = 0, inside = 0;
  for (const program::Op& o : program::expanded(p).ops) {
    if (o.kind != program::OpKind::kCollective || o.cls != program::OpClass::kEp) continue;
    const program::CollectiveCall& c = p.calls[index(o.call)];
    const bool stays = c.groups.actor(0, 1) - c.groups.actor(0, 0) == 1;
    EXPECT_EQ(c.groups.size(), 4u);
    (stays ? inside : across) += static_cast<double>(count(c.bytes));
    // Kernels that exchange single tokens reach 0.82 of the rate of NCCL's all-to-all; products next to them slow both.
    EXPECT_DOUBLE_EQ(c.slowdown, (1 + 0.25 * 0.8) / (stays ? 0.82 : 1));
  }
  EXPECT_NEAR(across / (exchanges * token_bytes * 4 * (1 - 0.75 * 0.75)), 1, 1e-5);
  EXPECT_NEAR(inside / (exchanges * token_bytes * 16 * (1 - 0.9375 * 0.9375)), 1, 1e-5);
}

// What slows an exchange is time: whatever runs next to it and whoever's kernels it has, the tokens are the same.
TEST(Experts, BytesOnLinksAreThoseOfTheTokensWhateverOverlapsThem) {
  LayoutSpec l = expert_layout(1, 16, 16);
  l.experts.skew = 0, l.experts.exchange = ExpertExchange::kPerNode;
  KernelTable k = flat_kernels();
  k.scale_up_gpus = 4;
  const auto bytes = [&] {
    const program::Program p = build_program(small_experts(), l, k).value();
    return bytes_moved(p, program::OpClass::kEp, collectives::Collective::kAllToAll);
  };
  const double alone = bytes();
  for (const double overlap : {0.25, 0.8, 1.0})
    for (const auto kernels : {ExpertKernels::kOfExchange, ExpertKernels::kHybridEp, ExpertKernels::kGin})
      for (const std::uint32_t cores : {0u, 4u}) {
        l.experts.overlap = overlap, l.experts.kernels = kernels, l.experts.cores = cores;
        EXPECT_EQ(bytes(), alone) << overlap << " " << name_of(kernels) << " " << cores;
      }
}

TEST(Experts, KernelsTakeTheirSmsFromComputationAndAreSlowerWithFewer) {
  LayoutSpec l = expert_layout(1, 16, 16);
  KernelTable k = flat_kernels();
  k.cores = 132, k.scale_up_gpus = 8, k.contention.ep = 20.0 / 132;
  EXPECT_DOUBLE_EQ(contention_in(l, k).ep, 20.0 / 132);
  l.experts.kernels = ExpertKernels::kHybridEp;
  EXPECT_DOUBLE_EQ(contention_in(l, k).ep, 16.0 / 132);
  l.experts.kernels = ExpertKernels::kGin;
  EXPECT_DOUBLE_EQ(contention_in(l, k).ep, 6.0 / 132) << "over the network";
  k.scale_up_gpus = 16;
  EXPECT_DOUBLE_EQ(contention_in(l, k).ep, 24.0 / 132);
  l.experts.cores = 12;
  EXPECT_DOUBLE_EQ(contention_in(l, k).ep, 12.0 / 132);
  EXPECT_DOUBLE_EQ(expert_kernel_costs(l, true).slowdown, 2);
  EXPECT_DOUBLE_EQ(expert_kernel_costs(l, false).slowdown, 1) << "6 would do";
}

TEST(Experts, APairOfPassesHidesAllItsExchangesButTheLast) {
  ExpertRun e;
  e.overlap = 0.3;
  EXPECT_EQ(overlapped_share(e, 4), 0.3);
  e.computed_overlap = true;
  EXPECT_EQ(overlapped_share(e, 4), 15.0 / 16);
  EXPECT_EQ(overlapped_share(e, 1), 3.0 / 4);
  EXPECT_EQ(overlapped_share(e, 0), 0);
}

// 28 bytes of memory traffic per element of a copy's output forward, 40 backward and one read of the first product's
// gradient. The host launches the kernels of each expert.
TEST(Experts, BiasesCostTheTrafficOrTheLaunchesOfWhatAddsThem) {
  ModelSpec with = small_experts();
  with.moe.biases = true;
  LayoutSpec l = expert_layout(1, 16, 4);
  l.experts.skew = 0;
  const KernelTable k = flat_kernels();
  const auto more = [&](Duration ExpertTimes::*part) {
    return step_times(with, l, k).experts.*part - step_times(small_experts(), l, k).experts.*part;
  };
  const double elements = 1024 * 2 * 1024.0;  // tokens x copies x hidden
  EXPECT_EQ(more(&ExpertTimes::out), k.memory_time(28 * elements));
  EXPECT_EQ(more(&ExpertTimes::out_dgrad), k.memory_time((40 + 2 * 2) * elements));
  l.experts.launch = Duration::us(1000);
  EXPECT_EQ(more(&ExpertTimes::out), Duration::us(4 * 2 * 1000));
  l.experts.fused = true;  // part of the products
  EXPECT_EQ(more(&ExpertTimes::out), Duration());
  EXPECT_EQ(more(&ExpertTimes::out_dgrad), k.memory_time(2 * elements));
}

TEST(Experts, EachIsHeldOnceByEveryGroupOfRanksThatHasAll) {
  for (const LayoutSpec& l : {expert_layout(1, 16, 8), expert_layout(2, 8, 4), expert_layout(4, 4, 2, 4),
                              expert_layout(4, 4, 8, 2), expert_layout(2, 4, 1)}) {
    const ModelSpec m = small_experts();
    const double held = static_cast<double>(stage_expert_parameters(m, l, 0)) * l.ep * l.expert_tensor();
    EXPECT_EQ(held, 7.0 * 16 * static_cast<double>(expert_parameters(m)));
    const double others = static_cast<double>(stage_parameters(m, l, 0)) * l.tp;
    EXPECT_NEAR((held + others) / static_cast<double>(parameter_count(m)), 1, 0.01);  // norms, routers: whole
    for (const auto& [family, size] :
         {std::pair{expert_groups(l, 0), l.ep}, std::pair{expert_tensor_groups(l, 0), l.expert_tensor()},
          std::pair{expert_data_groups(l, 0), l.expert_data_ranks()}}) {
      EXPECT_EQ(family.size(), size);
      std::set<std::uint32_t> seen;
      for (std::uint32_t g = 0; g < family.groups(); ++g)
        for (std::uint32_t i = 0; i < family.size(); ++i) EXPECT_TRUE(seen.insert(family.actor(g, i)).second);
      EXPECT_EQ(seen.size(), 16u * l.tp * l.dp / 16);
    }
  }
}

// ZeRO-1 of experts: gradients (4 bytes) and parameters (2) over the ranks that hold the same ones.
TEST(Experts, TheirGradientsAreReducedOverTheRanksThatHoldTheSameOnes) {
  const LayoutSpec l = expert_layout(1, 16, 8);
  const ModelSpec m = small_experts();
  const program::Program p = build_program(m, l, flat_kernels()).value();
  double gradients = 0, parameters = 0;
  for (const program::Op& o : program::expanded(p).ops) {
    if (o.kind != program::OpKind::kCollective || o.cls != program::OpClass::kDp) continue;
    const program::CollectiveCall& c = p.calls[index(o.call)];
    if (c.groups.size() != 2) continue;
    (c.op == collectives::Collective::kReduceScatter ? gradients : parameters) += static_cast<double>(count(c.bytes));
  }
  EXPECT_EQ(gradients, 4.0 * static_cast<double>(stage_expert_parameters(m, l, 0)));
  EXPECT_EQ(parameters, 2.0 * static_cast<double>(stage_expert_parameters(m, l, 0)));
}

// The definition: experts draw loads, ranks sum theirs, the step waits for the largest sum.
TEST(Experts, TheBusiestRankIsTheLargestOfSumsOfRandomLoads) {
  ModelSpec m = small_experts();
  m.moe.experts = 64;
  LayoutSpec l = expert_layout(1, 16, 16);
  l.experts.skew = 0.3;
  const double noise = 64.0 / (1024.0 * 16 * 2);
  RandomStream random(3, "loads");
  const auto normal = [&] {
    return std::sqrt(-2 * std::log(1 - random.uniform())) * std::cos(2 * 3.14159265358979 * random.uniform());
  };
  double sum = 0, dropped = 0;
  constexpr int kDraws = 4000;
  std::vector<double> largest;
  for (int i = 0; i < kDraws; ++i) {
    double most = 0;
    for (int rank = 0; rank < 16; ++rank) {
      double load = 0;
      for (int e = 0; e < 4; ++e) {
        const double one = 1 + std::sqrt(0.09 + noise) * normal();
        load += one / 4;
        dropped += std::max(0.0, one - 1.25) / (64 * kDraws);
      }
      most = std::max(most, load);
    }
    sum += most / kDraws;
    largest.push_back(most);
  }
  std::sort(largest.begin(), largest.end());
  EXPECT_NEAR(expert_load(m, l).busiest, sum, 0.01);
  EXPECT_NEAR(expert_load(m, l).busiest_p90, largest[kDraws * 9 / 10], 0.01);
  EXPECT_EQ(expert_load(m, l).dropped, 0);
  l.experts.capacity = 1.25;  // places of an expert, of the mean
  EXPECT_NEAR(expert_load(m, l).dropped, dropped, 0.002);
  EXPECT_EQ(expert_load(m, l).busiest, 1.25);
  l.experts.skew = 0;
  EXPECT_EQ(expert_load(m, l).busiest, 1);
  EXPECT_EQ(expert_load(m, l).dropped, 0);
}

TEST(Experts, OneGroupedProductCostsNoLessThanItsFlopsAndNoMoreThanOneByOne) {
  KernelTable k = flat_kernels();
  k.cores = 132;
  for (const std::uint64_t rows : {16ull, 200ull, 4096ull}) {
    const double one = k.gemm_time(rows, 2048, 1024).in_s();
    const double grouped = k.gemm_time(rows, 2048, 1024, Precision::kBf16, 0, 8).in_s();
    EXPECT_LE(grouped, 8 * one * (1 + 1e-9));
    EXPECT_GE(grouped, 8 * 2.0 * static_cast<double>(rows) * 2048 * 1024 / 0.7e15);
  }
}

// Two sequences of 512 tokens, two choices, capacity 1.25: 1280 places in each sequence. One product of masks takes
// tokens there and one back; all places are computed and exchanged, whether a token has them or not.
TEST(Experts, MasksCostAProductEachWayAndFillAllPlaces) {
  ModelSpec m = small_experts();
  m.moe.per_token = 2;
  LayoutSpec l = expert_layout(1, 16, 8);
  l.batch.seq = 512, l.batch.micro = 2, l.experts.skew = 0;
  KernelTable k = flat_kernels();
  k.memory_bytes_per_s = 1e30;
  l.cuda_graphs = true;
  const ExpertTimes copied = step_times(m, l, k).experts;
  l.experts.capacity = 1.25, l.experts.masks = true;
  EXPECT_EQ(expert_load(m, l).busiest, 1.25);
  EXPECT_EQ(rank_loads(m, l), std::vector<double>(8, 1.25));
  const ExpertTimes masked = step_times(m, l, k).experts;
  const double product_us = 2e6 * 2 * 512 * 1280 * m.hidden / 0.7e15;
  EXPECT_NEAR((masked.route - copied.route).in_us(), product_us, 0.01 * product_us);
  EXPECT_NEAR((masked.collect - copied.collect).in_us(), product_us, 0.01 * product_us);
  EXPECT_NEAR((masked.collect_back + masked.route_back - copied.collect_back - copied.route_back).in_us(),
              3 * product_us, 0.03 * product_us);
  EXPECT_NEAR(masked.in.in_us() / copied.in.in_us(), 1.25, 0.01);
}

// 16 experts over EP 8. A kernel for each and product in 16 bits, four in 8 bits; a fused kernel has all of them.
TEST(Experts, AProductTakesNoLessThanTheLaunchesOfEachExpert) {
  LayoutSpec l = expert_layout(1, 16, 8);
  const auto experts = [&] { return step_times(small_experts(), l, flat_kernels()).experts; };
  l.cuda_graphs = true;  // they hold no kernel of a number of tokens that only the router knows
  const ExpertTimes alone = experts();
  l.experts.launch = Duration::us(1000);
  EXPECT_EQ(experts().in, Duration::us(2 * 1000));
  EXPECT_EQ(experts().out_wgrad, Duration::us(2 * 1000));
  EXPECT_EQ(experts().route, alone.route);
  l.precision = Precision::kFp8;
  EXPECT_GE(experts().in_dgrad, Duration::us(8 * 1000));
  l.experts.fused = true;
  EXPECT_LT(experts().in, Duration::us(1000));
}

// After an all-to-all, copies are put in the order of a rank's experts, and back: read and written twice in 16 bits.
TEST(Experts, CopiesAreSortedWhereARankHasSeveralExpertsAfterAnAllToAll) {
  LayoutSpec l = expert_layout(1, 16, 8);
  l.batch.seq = 65'536, l.experts.skew = 0;
  const ModelSpec m = small_experts();
  const auto experts = [&] { return step_times(m, l, flat_kernels()).experts; };
  const ExpertTimes sorted = experts();
  l.experts.exchange = ExpertExchange::kPerNode;  // its kernels write them in this order
  const Duration copies = flat_kernels().memory_time(2 * (2 + 2) * 65'536.0 * m.moe.per_token * m.hidden);
  EXPECT_EQ(sorted.middle - experts().middle, copies);
  EXPECT_EQ(sorted.middle_back - experts().middle_back, copies);
  l.ep = 16;  // one expert for each rank
  const ExpertTimes alone = experts();
  l.experts.exchange = ExpertExchange::kAllToAll;
  EXPECT_EQ(experts().middle, alone.middle);
}

// Fused experts copy what the backward pass needs, its input in 8 bits and the first product in 16, there and back.
TEST(Experts, FusedKernelsStashWhatTheBackwardPassNeeds) {
  LayoutSpec l = expert_layout(1, 16, 8);
  l.batch.seq = 65'536, l.experts.skew = 0;
  const ModelSpec m = small_experts();
  const auto experts = [&] { return step_times(m, l, flat_kernels()).experts; };
  const ExpertTimes apart = experts();
  l.experts.fused = true;
  const double kept = 65'536.0 * m.moe.per_token * (m.hidden + 2.0 * 2 * m.moe.ffn);
  EXPECT_EQ(experts().out - apart.out, flat_kernels().memory_time(2 * kept));
  EXPECT_EQ(experts().out_dgrad - apart.out_dgrad, flat_kernels().memory_time(2 * kept));
}

TEST(Experts, ZeroSkewAndTenthsOfTokensScaleTheGroupedProducts) {
  LayoutSpec l = expert_layout(1, 16, 8);
  const auto experts = [&] { return step_times(small_experts(), l, flat_kernels()).experts; };
  const ExpertTimes even = (l.experts.skew = 0, experts());
  l.experts.skew = 0.5;
  EXPECT_GT(experts().in, even.in);
  EXPECT_EQ(experts().collect, even.collect);  // a rank collects its own tokens, however experts are loaded
}

TEST(Experts, ZeroBubbleAndPassesKeepTheWork) {
  LayoutSpec l = expert_layout(2, 8, 4);
  l.pp = 4, l.split.chunk_layers.clear(), l.batch.global = 64;
  l = resolve_layout(l, small_experts(), 0).value();
  const auto work = [&](PipelineSchedule schedule, bool passes) {
    l.schedule = schedule;
    const StepTimes t = step_times(small_experts(), l, flat_kernels());
    Duration sum;
    for (const program::Op& o : program::expanded(build_program(small_experts(), l, t, flat_kernels(), passes)).ops)
      sum += o.duration;
    return sum;
  };
  const Duration plain = work(PipelineSchedule::k1F1B, false);
  EXPECT_EQ(work(PipelineSchedule::k1F1B, true), plain);
  EXPECT_EQ(work(PipelineSchedule::kZbH1, true), plain);
}

// Multi-token prediction on the last stage: one more layer there, two states joined, the head twice.
TEST(Experts, APredictorAddsOneLayerAndOneHeadToTheLastStage) {
  for (const PipelineSchedule schedule : {PipelineSchedule::k1F1B, PipelineSchedule::kZbH1}) {
    LayoutSpec l = expert_layout(2, 8, 4);
    l.pp = 4, l.split.chunk_layers = {2, 2, 2, 2}, l.batch.global = 64, l.schedule = schedule;
    ModelSpec m = small_experts();
    const auto work = [&] {
      Duration sum;
      for (const program::Op& o : program::expanded(build_program(m, l, flat_kernels()).value()).ops)
        if (o.cls == program::OpClass::kCompute) sum += o.duration;
      return sum;
    };
    const Duration before = work();
    m.mtp = 1;
    const StepTimes t = step_times(m, l, flat_kernels());
    const EndTimes& e = t.ends;
    const BlockTimes& mixer = t.kinds[0].mixer;
    const Duration layer = mixer.forward() + mixer.backward() + t.experts.forward() + t.experts.backward();
    const Duration head =
        e.head_norm + e.head_norm_back + e.logits + e.logits_dgrad + e.logits_wgrad + e.loss + e.loss_back;
    const Duration join = e.embedding + e.embedding_back + e.join + e.join_dgrad + e.join_wgrad;
    EXPECT_GT(e.join, Duration{});
    EXPECT_EQ(work() - before, (layer + head + join) * l.micro_batches());
    const std::uint64_t own = expert_parameters(m) * 4;  // of 16 experts over EP 4
    ModelSpec without = m;
    without.mtp = 0;
    EXPECT_EQ(stage_expert_parameters(m, l, 3) - stage_expert_parameters(without, l, 3), own);
    EXPECT_GT(count(stage_memory(m, l, 3).total()), count(stage_memory(without, l, 3).total()));
    EXPECT_EQ(count(stage_memory(m, l, 0).total()), count(stage_memory(without, l, 0).total()));
  }
}

TEST(Experts, LayersWithAWindowAttendInLessTime) {
  ModelSpec m = small_experts();
  m.window = {.tokens = 128, .full_every = 2};
  LayoutSpec l = expert_layout(2, 8, 4);
  l.batch.seq = 8192;
  const StepTimes t = step_times(m, l, flat_kernels());
  const BlockTimes &windowed = t.of(2).mixer, &full = t.of(1).mixer;
  EXPECT_NEAR(windowed.core.in_s() / full.core.in_s(), (128.0 + 128) / (4096.0 + 64), 1e-6);
  KernelTable k = flat_kernels();
  k.attention_block = 1024;  // a block of queries sees two of keys, however short the window is
  const StepTimes wide = step_times(m, l, k);
  EXPECT_NEAR(wide.of(2).mixer.core.in_s() / wide.of(1).mixer.core.in_s(), 2048.0 / (4096 + 512), 1e-6);
  EXPECT_EQ(windowed.in, full.in);
}

TEST(Experts, NormsOfQueriesAndKeysTakeTheTimeOfTheirBytes) {
  ModelSpec m = small_experts();
  LayoutSpec l = expert_layout(2, 8, 4);
  l.batch.seq = 65'536;
  const BlockTimes without = step_times(m, l, flat_kernels()).kinds[0].mixer;
  m.qk_norm = true;
  const BlockTimes with = step_times(m, l, flat_kernels()).kinds[0].mixer;
  const double elements = 65'536.0 * (8 + 4) * 64;
  EXPECT_EQ(with.middle - without.middle, flat_kernels().memory_time(elements * 4));
  EXPECT_EQ(with.middle_back - without.middle_back, flat_kernels().memory_time(elements * 6));
}

TEST(Experts, RefusalsNameTheirPlace) {
  const auto refused = [](auto change, const char* words) {
    LayoutSpec l = expert_layout(2, 8, 4);
    change(l);
    const auto r = resolve_layout(l, small_experts(), 0);
    ASSERT_FALSE(r.ok()) << words;
    EXPECT_NE(r.error().text().find(words), std::string::npos) << r.error().text();
  };
  refused([](LayoutSpec& l) { l.ep = 3; }, "16 experts are not divisible by ep 3");
  refused([](LayoutSpec& l) { l.dp = 2, l.batch.global = 2, l.ep = 8; }, "does not divide tp 2 x cp 1 x dp 2");
  refused([](LayoutSpec& l) { l.expert_tp = 3; }, "not divisible by expert_tp 3");
  refused([](LayoutSpec& l) { l.sequence_parallel = false; }, "sequence_parallel");
  LayoutSpec dense = expert_layout(2, 8, 4);
  const auto r = resolve_layout(dense, small_model(), 0);
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.error().text().find("has no experts"), std::string::npos);
}

}  // namespace
}  // namespace busbar::workload
