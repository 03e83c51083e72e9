#include "busbar/workload/build_program.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "busbar/base/id.h"
#include "busbar/program/passes.h"
#include "busbar/program/test_passes.h"
#include "busbar/workload/internal/buckets.h"
#include "busbar/workload/internal/pipeline_order.h"
#include "busbar/workload/test_models.h"

namespace busbar::workload {
namespace {

/// Bytes that all calls of a class and collective move per group, summed over a role's operations.
double bytes_of(const program::Program& p, program::RoleId role, program::OpClass cls, collectives::Collective op) {
  double sum = 0;
  const program::Program all = program::expanded(p);
  for (const program::Op& o : all.ops) {
    if (o.role != role || o.kind != program::OpKind::kCollective || o.cls != cls) continue;
    const program::CollectiveCall& call = p.calls[index(o.call)];
    if (call.op == op) sum += static_cast<double>(count(call.bytes));
  }
  return sum;
}

TEST(PipelineOrder, EveryPassHappensOnceAndForwardComesFirst) {
  for (const auto& [p, v, m] :
       std::vector<std::tuple<int, int, int>>{{1, 1, 4}, {4, 1, 3}, {4, 1, 9}, {4, 5, 64}, {2, 3, 2}}) {
    for (int r = 0; r < p; ++r) {
      std::set<std::pair<int, int>> done_forward, done_backward;
      for (const PipelineStep& s : pipeline_order(r, p, v, m)) {
        const std::pair<int, int> key{s.chunk, s.micro_batch};
        if (s.forward) {
          EXPECT_TRUE(done_forward.insert(key).second);
        } else {
          EXPECT_TRUE(done_forward.contains(key));
          EXPECT_TRUE(done_backward.insert(key).second);
        }
      }
      EXPECT_EQ(done_backward.size(), static_cast<std::size_t>(v) * m);
    }
  }
}

TEST(PipelineOrder, ZeroBubbleRunsForwardThenInputsThenWeightsWithinTheMemoryOf1F1B) {
  for (const auto& [p, m] :
       std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 2}, {2, 2}, {4, 4}, {4, 9}, {8, 32}}) {
    for (std::uint32_t r = 0; r < p; ++r) {
      for (const std::uint32_t chunks : {1u, 2u, 3u}) {
        if (chunks == 3 && m < 2 * p) continue;
        const auto order = chunks == 1   ? zb_h1_order(r, p, m)
                           : chunks == 2 ? zb_v_order(r, p, m)
                                         : dual_pipe_v_order(r, p, m);
        ASSERT_EQ(order.size(), 3 * std::min(2u, chunks) * m);
        std::map<std::pair<int, int>, int> stage_of;  // 1 forward, 2 inputs, 3 weights
        for (const PipelineStep& s : order) {
          const int is = s.forward ? 1 : s.part == BackwardPart::kInput ? 2 : 3;
          EXPECT_EQ(++stage_of[std::pair(s.chunk, s.micro_batch)], is);
        }
        EXPECT_LE(most_kept(order, {1, 1}), chunks == 3 ? 2 * p + 1 : chunks * p);
      }
    }
  }
}

TEST(PipelineOrder, ManyMicroBatchesKeepNoMoreThanTheFirstOfThem) {
  for (const PipelineSchedule schedule :
       {PipelineSchedule::k1F1B, PipelineSchedule::kZbH1, PipelineSchedule::kZbV, PipelineSchedule::kDualPipeV})
    for (const std::uint32_t p : {2u, 3u, 8u})
      for (const std::uint32_t v : {1u, 2u, 3u}) {
        if (schedule != PipelineSchedule::k1F1B && v != (schedule == PipelineSchedule::kZbH1 ? 1 : 2)) continue;
        for (const std::uint32_t m : {3 * p, 4 * p, 5 * p, 5 * p + 1, 13 * p, 20 * p - 1}) {
          if (v > 1 && schedule == PipelineSchedule::k1F1B && m % p != 0) continue;
          LayoutSpec l;
          l.schedule = schedule;
          l.pp = p, l.vpp = v, l.dp = 1, l.batch.micro = 1, l.batch.global = m;
          for (std::uint32_t s = 0; s < p; ++s)
            EXPECT_EQ(most_kept(l, s, {3, 1, 7}), most_kept(order_of(l, s), {3, 1, 7})) << p << " " << v << " " << m;
        }
      }
}

TEST(Buckets, OfAStageHoldItsParameters) {
  ModelSpec tied = small_model();
  tied.tied_embeddings = true;
  ModelSpec experts = small_experts(), latent = deepseek_v3();
  latent.mtp = 1;
  for (const ModelSpec& m : {small_model(), tied, experts, latent})
    for (const auto& [pp, vpp] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 1}, {4, 1}, {2, 2}}) {
      LayoutSpec asked;
      asked.tp = 2, asked.pp = pp, asked.vpp = vpp, asked.dp = 2, asked.ep = m.moe.experts > 0 ? 2 : 1;
      asked.batch.global = 16;
      const LayoutSpec l = resolve_layout(asked, m, 4 * pp).value();
      for (std::uint32_t s = 0; s < pp; ++s) {
        std::uint64_t parameters = 0, routed = 0;
        for (std::uint32_t c = 0; c < vpp; ++c) {
          const BucketPlan plan = plan_buckets(m, l, s, c);
          parameters += plan.parameters();
          routed += plan.expert_parameters();
        }
        EXPECT_EQ(stage_parameters(m, l, s), parameters) << m.name << ", stage " << s;
        EXPECT_EQ(stage_expert_parameters(m, l, s), routed) << m.name << ", stage " << s;
      }
    }
}

TEST(Buckets, HoldEveryParameterOnceAndCloseAtTheirSize) {
  for (const LayoutSpec& l : {main_layout(1, 1), main_layout(4, 5)}) {
    std::uint64_t all = 0;
    for (std::uint32_t s = 0; s < l.pp; ++s) {
      for (std::uint32_t c = 0; c < l.vpp; ++c) {
        const BucketPlan plan = plan_buckets(llama3_70b(), l, s, c);
        std::uint64_t in_buckets = 0;
        for (std::size_t b = 0; b + 1 < plan.bucket_parameters.size(); ++b) {
          EXPECT_GE(plan.bucket_parameters[b], bucket_size(l));
        }
        for (const std::uint64_t n : plan.bucket_parameters) in_buckets += n;
        EXPECT_LE(in_buckets - plan.parameters(), plan.bucket_parameters.size() * l.dp);  // padding
        all += plan.parameters();
      }
    }
    // Every TP rank holds whole norms; all other tensors are divided by tp.
    EXPECT_NEAR(static_cast<double>(all) * l.tp, static_cast<double>(parameter_count(llama3_70b())), 1.2e7);
  }
}

// ZeRO-1 per step: reduce-scatter of 4 bytes per parameter, all-gather of 2 (training-model, section 3).
TEST(Program, DataParallelBytesFollowZeroOne) {
  const LayoutSpec l = main_layout(1, 1);
  const auto p = build_program(llama3_70b(), l, flat_kernels());
  ASSERT_TRUE(p.ok());
  const double parameters = static_cast<double>(stage_parameters(llama3_70b(), l, 0));
  EXPECT_NEAR(bytes_of(*p, program::RoleId{0}, program::OpClass::kDp, collectives::Collective::kReduceScatter) /
                  (4 * parameters),
              1, 1e-5);
  EXPECT_NEAR(
      bytes_of(*p, program::RoleId{0}, program::OpClass::kDp, collectives::Collective::kAllGather) / (2 * parameters),
      1, 1e-5);
}

// TP + SP per layer and micro-batch: forward 2 + 2, backward 2 + 2 and 2 gathers again, each of 2 s b h bytes.
TEST(Program, TensorParallelBytesFollowSequenceParallelism) {
  const LayoutSpec l = main_layout(1, 1);
  const auto p = build_program(llama3_70b(), l, flat_kernels());
  const double message = 2.0 * 4096 * 8192, per_layer = 80.0 * 16;
  const double ends = 16;  // embedding and logits: one scatter in each direction, three gathers
  EXPECT_DOUBLE_EQ(
      bytes_of(*p, program::RoleId{0}, program::OpClass::kTp, collectives::Collective::kAllGather) / message,
      6 * per_layer + 3 * ends);
  EXPECT_DOUBLE_EQ(
      bytes_of(*p, program::RoleId{0}, program::OpClass::kTp, collectives::Collective::kReduceScatter) / message,
      4 * per_layer + 2 * ends);
}

TEST(Program, PipelineTransfersAreOnePerBoundaryMicroBatchAndDirection) {
  const LayoutSpec l = main_layout(4, 5);
  const auto p = build_program(llama3_70b(), l, flat_kernels());
  double all = 0;
  for (std::uint32_t r = 0; r < 4; ++r)
    all += bytes_of(*p, program::RoleId{r}, program::OpClass::kPp, collectives::Collective::kSendRecv);
  EXPECT_DOUBLE_EQ(all / (2.0 * 4096 * 8192 / 8), 2 * 64 * (4 * 5 - 1));
}

TEST(Program, EveryGroupJoinsTheRanksItShould) {
  const LayoutSpec l = main_layout(4, 5);
  const auto p = build_program(llama3_70b(), l, flat_kernels());
  for (const program::CollectiveCall& call : p->calls) {
    if (call.groups.size() == l.ranks()) continue;
    for (std::uint32_t g = 0; g < call.groups.groups(); ++g) {
      const std::uint32_t first = call.groups.actor(g, 0);
      for (std::uint32_t m = 0; m < call.groups.size(); ++m) {
        const std::uint32_t rank = call.groups.actor(g, m);
        ASSERT_LT(rank, l.ranks());
        const std::uint32_t stage = rank / 128, first_stage = first / 128;
        if (call.op == collectives::Collective::kSendRecv) {
          EXPECT_EQ(rank % 128, first % 128);
          if (m == 1) EXPECT_TRUE((first_stage + 1) % 4 == stage || (stage + 1) % 4 == first_stage);
        } else {
          EXPECT_EQ(stage, first_stage);
          EXPECT_TRUE(rank / 8 == first / 8 || rank % 8 == first % 8);
        }
      }
    }
  }
}

TEST(Program, TheMainJobsAreSmall) {
  for (const auto& [layout, most_ops] :
       {std::pair{main_layout(1, 1), 30'000u}, std::pair{main_layout(4, 5), 125'000u}}) {
    const auto p = build_program(llama3_70b(), layout, flat_kernels());
    EXPECT_LT(program::OpIndex(*p).count(), most_ops);
    EXPECT_LT(p->ops.size(), 6'000u);  // the other operations are in passes
    EXPECT_LT(p->calls.size(), 64u);
  }
  static_assert(sizeof(program::Op) <= 40);
}

TEST(Program, SizesThatNoMachineRunsAreRefusedNotOverflown) {
  ModelSpec m = small_model();
  m.hidden = 1 << 20;
  m.ffn = 1 << 22;
  m.vocab = 1 << 26;
  LayoutSpec l = small_layout(1, 1, 1, 1, 1);
  l.batch.seq = 1 << 24;
  const auto p = build_program(m, l, flat_kernels());
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.error().text().find("lower seq"), std::string::npos) << p.error().text();
  l.batch.micro = 1 << 24;
  EXPECT_FALSE(resolve_layout(l, m, 1).ok());
}

TEST(Program, TooManyMicroBatchesAreRefused) {
  LayoutSpec l = small_layout(1, 1, 1, 1, 1);
  l.batch.global = 1 << 20;
  const auto p = build_program(small_model(), l, flat_kernels());
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.error().text().find("global_batch"), std::string::npos);
}

// A stage waits for its slowest GPU, and so do all replicas. Only its own computation takes longer.
TEST(Program, AStragglerStretchesTheComputationOfItsStageAlone) {
  LayoutSpec l = small_layout(2, 4, 1, 2, 8);
  const program::Program even = program::expanded(build_program(small_model(), l, flat_kernels()).value());
  l.straggler.speed = 0.8;
  l.straggler.stage = 2;
  const program::Program slow = program::expanded(build_program(small_model(), l, flat_kernels()).value());
  ASSERT_EQ(even.ops.size(), slow.ops.size());
  for (std::size_t i = 0; i < even.ops.size(); ++i) {
    const double factor = even.ops[i].kind == program::OpKind::kDelay && index(even.ops[i].role) == 2 ? 1 / 0.8 : 1;
    EXPECT_NEAR(slow.ops[i].duration.in_us(), factor * even.ops[i].duration.in_us(), 1e-5);
  }
}

// The software's share: all kernels of all stages, and no transfer.
TEST(BuildProgram, KernelTimeStretchesEveryKernel) {
  LayoutSpec l = small_layout(2, 2, 1, 2, 4);
  const program::Program megatron = program::expanded(build_program(small_model(), l, flat_kernels()).value());
  l.kernel_time = 0.9;
  const program::Program faster = program::expanded(build_program(small_model(), l, flat_kernels()).value());
  ASSERT_EQ(megatron.ops.size(), faster.ops.size());
  for (std::size_t i = 0; i < megatron.ops.size(); ++i) {
    const double factor = megatron.ops[i].kind == program::OpKind::kDelay ? 0.9 : 1;
    EXPECT_NEAR(faster.ops[i].duration.in_us(), factor * megatron.ops[i].duration.in_us(), 1e-5);
  }
}

// DTensor and Megatron before 2022: the weights' gradient waits for the reduction of the input's.
TEST(BuildProgram, BackwardReductionsOfTpAreExposedWhereTheyAreNotOverlapped) {
  LayoutSpec l = small_layout(2, 1, 1, 1, 2);
  const program::Program hidden = program::expanded(build_program(small_model(), l, flat_kernels()).value());
  l.overlap.tp_backward = false;
  const program::Program exposed = program::expanded(build_program(small_model(), l, flat_kernels()).value());
  ASSERT_EQ(hidden.ops.size(), exposed.ops.size());
  EXPECT_NE(hidden.deps.values, exposed.deps.values);
}

}  // namespace
}  // namespace busbar::workload
