#include "busbar/step/simulate.h"

#include <gtest/gtest.h>

#include "busbar/base/id.h"
#include "busbar/step/fake_engine.h"
#include "busbar/workload/build_program.h"

namespace busbar {
namespace {

ModelSpec small_model() {
  ModelSpec m;
  m.layers = 8;
  m.hidden = 1024;
  m.ffn = 4096;
  m.heads = 16;
  m.kv_heads = 8;
  m.head_dim = 64;
  m.vocab = 32000;
  return m;
}

KernelTable flat_kernels() {
  KernelTable k;
  k.peak_flops_per_s = 1e15;
  k.gemm = {{0, 0.7}};
  k.attention_forward = {{0, 0.4}};
  k.attention_backward = {{0, 0.3}};
  k.memory_bytes_per_s = 3.35e12;
  k.memory_share = 0.9;
  k.optimizer_bytes_per_parameter = 30;
  return k;
}

LayoutSpec layout_of(std::uint32_t tp, std::uint32_t pp, std::uint32_t vpp, std::uint32_t dp, std::uint32_t batches) {
  LayoutSpec l;
  l.tp = tp;
  l.pp = pp;
  l.vpp = vpp;
  l.dp = dp;
  l.seq = 1024;
  l.global_batch = dp * batches;
  auto resolved = resolve_layout(l, small_model(), tp * pp * dp);
  return std::move(resolved).value();
}

/// Stages that all take the same time: nothing but layers.
StepTimes equal_stages() {
  StepTimes t = step_times(small_model(), layout_of(1, 1, 1, 1, 1), flat_kernels());
  t.ends = {};
  return t;
}

FakeEngine::Time constant(Duration d) {
  return [d](const CollectiveCall&) { return d; };
}

StepResult simulate(const Program& program, FakeEngine::Time time, StepOptions options = {}) {
  FakeEngine engine(std::move(time));
  auto result = simulate_step(program, engine, options);
  return std::move(result).value();
}

KernelTable free_optimizer() {
  KernelTable k = flat_kernels();
  k.memory_bytes_per_s = 1e30;
  return k;
}

// T = (m + (p-1)/v) t with t = F + B of a whole stage for one micro-batch; SC21, section 2.2.
TEST(Pipeline, TakesTheTimeOfTheLawWhenStagesAreEqualAndCommunicationIsFree) {
  const StepTimes times = equal_stages();
  const BlockTimes &a = times.attention, &b = times.mlp;
  const Duration layer = a.forward() + a.backward() + b.forward() + b.backward();
  for (const auto& [p, v, m] : std::vector<std::tuple<int, int, int>>{
           {1, 1, 3}, {2, 1, 1}, {2, 1, 5}, {4, 1, 4}, {8, 1, 3}, {8, 1, 16}, {2, 2, 4}, {2, 4, 2}, {4, 2, 8}, {4, 2, 4}}) {
    const LayoutSpec layout = layout_of(1, p, v, 1, m);
    const Program program = build_program(small_model(), layout, times, free_optimizer());
    const StepResult r = simulate(program, constant(Duration{}));
    // m stage passes and (p-1)/v of the ramp, in chunks of layers / (p v)
    const Duration chunk = layer * (8 / (p * v));
    const Duration law = chunk * (m * v + p - 1);
    EXPECT_LE(r.step_time - law, Duration::ps(4 * p)) << p << ' ' << v << ' ' << m;  // two 1 ps kernels per stage
    EXPECT_GE(r.step_time, law) << p << ' ' << v << ' ' << m;
  }
}

TEST(Step, BreakdownSumsToTheStepTime) {
  for (const auto& layout : {layout_of(8, 1, 1, 4, 3), layout_of(2, 2, 2, 2, 4), layout_of(4, 4, 1, 1, 6),
                             layout_of(1, 1, 1, 16, 2), layout_of(1, 8, 1, 1, 2)}) {
    auto program = build_program(small_model(), layout, flat_kernels());
    StepOptions options;
    options.contention = {.tp = 0.15, .dp = 0.02, .pp = 0.02};
    const StepResult r = simulate(*program, constant(Duration::us(37)), options);
    EXPECT_EQ(r.breakdown.total(), r.step_time);
    EXPECT_EQ(r.step_time, r.timeline.length);
    EXPECT_EQ(r.breakdown.other, Duration{});
  }
}

TEST(Step, FreeCommunicationIsNeverExposed) {
  auto program = build_program(small_model(), layout_of(8, 1, 1, 4, 3), flat_kernels());
  const StepResult r = simulate(*program, constant(Duration{}));
  EXPECT_EQ(r.breakdown.exposed_tp + r.breakdown.exposed_dp + r.breakdown.bubble, Duration{});
  EXPECT_EQ(r.breakdown.compute + r.breakdown.optimizer, r.step_time);
}

}  // namespace
}  // namespace busbar
