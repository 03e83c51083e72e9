#include "busbar/step/simulate.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "busbar/base/id.h"
#include "busbar/program/passes.h"
#include "busbar/step/fake_engine.h"
#include "busbar/step/metrics.h"
#include "busbar/workload/build_program.h"
#include "busbar/workload/test_models.h"

namespace busbar::step {
namespace {

/// Stages with equal times: only layers.
workload::StepTimes equal_stages() {
  workload::StepTimes t =
      workload::step_times(workload::small_model(), workload::small_layout(1, 1, 1, 1, 1), workload::flat_kernels());
  t.ends = {};
  return t;
}

FakeEngine::Time constant(Duration d) {
  return [d](const program::CollectiveCall&) { return d; };
}

StepResult simulate(const program::Program& program, FakeEngine::Time time, StepOptions options = {}) {
  FakeEngine engine(std::move(time));
  auto result = simulate_step(program, engine, options);
  return std::move(result).value();
}

workload::KernelTable free_optimizer() {
  workload::KernelTable k = workload::flat_kernels();
  k.memory_bytes_per_s = 1e30;
  return k;
}

// T = (m + (p-1)/v) t with t = F + B of a whole stage for one micro-batch; SC21, section 2.2.
TEST(Pipeline, TakesTheTimeOfTheLawWhenStagesAreEqualAndCommunicationIsFree) {
  const workload::StepTimes times = equal_stages();
  const workload::BlockTimes &a = times.kinds[0].mixer, &b = times.kinds[0].mlp;
  const Duration layer = a.forward() + a.backward() + b.forward() + b.backward();
  for (const auto& [p, v, m] : std::vector<std::tuple<int, int, int>>{{1, 1, 3},
                                                                      {2, 1, 1},
                                                                      {2, 1, 5},
                                                                      {4, 1, 4},
                                                                      {8, 1, 3},
                                                                      {8, 1, 16},
                                                                      {2, 2, 4},
                                                                      {2, 4, 2},
                                                                      {4, 2, 8},
                                                                      {4, 2, 4}}) {
    const workload::LayoutSpec layout = workload::small_layout(1, p, v, 1, m);
    const program::Program program = workload::build_program(workload::small_model(), layout, times, free_optimizer());
    const StepResult r = simulate(program, constant(Duration{}));
    // m stage passes, and (p-1)/v stage passes of the ramp, in chunks of layers / (p v)
    const Duration chunk = layer * (8 / (p * v));
    const Duration law = chunk * (m * v + p - 1);
    EXPECT_LE(r.step_time - law, Duration::ps(4 * p)) << p << ' ' << v << ' ' << m;  // two 1 ps kernels per stage
    EXPECT_GE(r.step_time, law) << p << ' ' << v << ' ' << m;
    // (p-1) / (v m) of the compute of all micro-batches
    EXPECT_NEAR(r.breakdown.bubble.in_us(), (chunk * (p - 1)).in_us(), 1e-5 * p) << p << ' ' << v << ' ' << m;
  }
}

// Qi et al. 2023 (arXiv:2401.10241), table 2: the bubble of ZB-H1 is (p-1) (F + B - W), where B computes gradients of
// inputs and W those of weights. ZB-V waits nowhere with F = B = W, but stage r starts r chunks of F later.
TEST(Pipeline, ZeroBubbleSchedulesTakeTheTimeOfTheirPaper) {
  workload::StepTimes times = equal_stages();
  for (workload::BlockTimes* b : {&times.kinds[0].mixer, &times.kinds[0].mlp}) {
    *b = {};
    b->in = b->out = b->out_dgrad = b->in_dgrad = Duration::us(10);
    b->out_wgrad = b->in_wgrad = Duration::us(8);
  }
  const auto step = [&](workload::PipelineSchedule schedule, std::uint32_t p, std::uint32_t v, std::uint32_t m) {
    workload::LayoutSpec l = workload::small_layout(1, p, 1, 1, m);
    l.schedule = schedule;
    l.vpp = v;
    l.split.chunk_layers.clear();
    l = workload::resolve_layout(l, workload::small_model(), p).value();
    return simulate(workload::build_program(workload::small_model(), l, times, free_optimizer()), constant(Duration{}))
        .step_time;
  };
  for (const auto& [p, m] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{{2, 4}, {4, 4}, {4, 9}, {8, 20}}) {
    const Duration f = Duration::us(40) * (8 / p), w = Duration::us(32) * (8 / p);
    const Duration law = (f + f + w) * m + (f + f - w) * (p - 1);
    const Duration h1 = step(workload::PipelineSchedule::kZbH1, p, 1, m);
    EXPECT_GE(h1, law);
    EXPECT_LE(h1 - law, Duration::ps(8 * p * m)) << p << ' ' << m;  // embedding, head and optimizer: 1 ps each
    EXPECT_LT(h1, step(workload::PipelineSchedule::k1F1B, p, 1, m));
  }
  for (workload::BlockTimes* b : {&times.kinds[0].mixer, &times.kinds[0].mlp})
    b->out_wgrad = b->in_wgrad = Duration::us(10);
  for (const auto& [p, m] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{{2, 4}, {4, 7}, {4, 16}}) {
    const Duration f = Duration::us(40) * (8 / p);
    const Duration law = f * (3 * m) + Duration::us(20) * (8 / p) * (p - 1);  // half a stage is a chunk
    const Duration v = step(workload::PipelineSchedule::kZbV, p, 2, m);
    EXPECT_GE(v, law);
    EXPECT_LE(v - law, Duration::ps(16 * p * m)) << p << ' ' << m;
  }
}

// The bubble of github.com/deepseek-ai/DualPipe, (PP/2-1) (F&B + B - 3W), for PP / 2 stages of two chunks: F&B = F + B
// here, and B is both parts of a backward pass.
TEST(Pipeline, DualPipeVTakesTheTimeOfItsTable) {
  workload::StepTimes times = equal_stages();
  for (workload::BlockTimes* b : {&times.kinds[0].mixer, &times.kinds[0].mlp}) {
    *b = {};
    b->in = b->out = Duration::us(10);
    b->out_dgrad = b->in_dgrad = Duration::us(12);
    b->out_wgrad = b->in_wgrad = Duration::us(8);
  }
  for (const auto& [p, m] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{{2, 4}, {2, 7}, {4, 8}, {4, 16}}) {
    workload::LayoutSpec l = workload::small_layout(1, p, 1, 1, m);
    l.schedule = workload::PipelineSchedule::kDualPipeV;
    l.vpp = 2;
    l.split.chunk_layers.clear();
    l = workload::resolve_layout(l, workload::small_model(), p).value();
    const Duration step =
        simulate(workload::build_program(workload::small_model(), l, times, free_optimizer()), constant(Duration{}))
            .step_time;
    const std::int64_t layers = 4 / p;
    const Duration f = Duration::us(40) * layers, b = Duration::us(48) * layers, w = Duration::us(32) * layers;
    const Duration law = (f + b + w) * (2 * m) + (f + b * 2 - w) * (p - 1);
    EXPECT_GE(step, law) << p << ' ' << m;
    EXPECT_LE(step - law, Duration::ps(16 * p * m)) << p << ' ' << m;
  }
}

TEST(Step, BreakdownSumsToTheStepTime) {
  for (const auto& layout : {workload::small_layout(8, 1, 1, 4, 3), workload::small_layout(2, 2, 2, 2, 4),
                             workload::small_layout(4, 4, 1, 1, 6), workload::small_layout(1, 1, 1, 16, 2),
                             workload::small_layout(1, 8, 1, 1, 2)}) {
    auto program = workload::build_program(workload::small_model(), layout, workload::flat_kernels());
    StepOptions options;
    options.contention = {.tp = 0.15, .dp = 0.02, .pp = 0.02};
    const StepResult r = simulate(*program, constant(Duration::us(37)), options);
    EXPECT_EQ(r.breakdown.total(), r.step_time);
    EXPECT_EQ(r.step_time, r.timeline.length);
    EXPECT_EQ(r.breakdown.other, Duration{});
  }
}

TEST(Step, EachRowOfComputeInTheTimelineSumsToTheStep) {
  for (const auto& layout : {workload::small_layout(8, 1, 1, 4, 3), workload::small_layout(2, 2, 2, 2, 4),
                             workload::small_layout(4, 4, 1, 2, 6), workload::small_layout(1, 1, 1, 16, 2),
                             workload::small_layout(1, 8, 1, 1, 2), workload::small_layout(2, 4, 2, 4, 8)}) {
    auto program = workload::build_program(workload::small_model(), layout, workload::flat_kernels());
    const StepResult r = simulate(*program, constant(Duration::us(37)));
    const trace::Timeline& t = r.timeline;
    std::vector<Duration> of_track(t.tracks.size());
    std::map<std::string, Duration> critical;  // waits of the critical role by part
    for (const trace::Span& s : t.spans) of_track[index(s.track)] += s.duration;
    for (const trace::Wait& w : t.waits) {
      of_track[index(w.track)] += w.duration;
      if (t.tracks[index(w.track)].process == program->roles[index(r.critical_role)].name)
        critical[t.strings[w.part]] += w.duration;
    }
    for (std::size_t i = 0; i < t.tracks.size(); ++i)
      if (t.tracks[i].thread == "compute") EXPECT_EQ(of_track[i], t.length) << t.tracks[i].process;
    for (const BreakdownPart& p : breakdown_parts()) {
      const std::string_view name = p.name;
      if (name != "compute" && name != "optimizer") EXPECT_EQ(critical[p.name], r.breakdown.*p.time) << name;
    }
  }
}

TEST(Step, TheCriticalPathOfTheTimelineHasNoHoles) {
  auto program =
      workload::build_program(workload::small_model(), workload::small_layout(2, 4, 2, 2, 8), workload::flat_kernels());
  const StepResult r = simulate(*program, constant(Duration::us(11)));
  Duration sum;
  for (const trace::Span& s : r.timeline.spans)
    if (s.critical) sum += s.duration;
  EXPECT_EQ(sum, r.timeline.length);
}

TEST(Step, WaitingForTheSlowestGpuIsAPartOfItsOwn) {
  auto program =
      workload::build_program(workload::small_model(), workload::small_layout(2, 2, 2, 2, 4), workload::flat_kernels());
  const StepResult equal = simulate(*program, constant(Duration::us(37)));
  const StepResult r = as_measured(equal, StepLaw{0, 0.01, 64});
  EXPECT_EQ(r.balanced, equal.step_time);
  EXPECT_EQ(r.breakdown.total(), r.step_time);
  EXPECT_EQ(r.breakdown.total() - r.breakdown.slowest_gpu, equal.step_time);
  EXPECT_NEAR(r.step_time.in_s() / equal.step_time.in_s(), 1 + 0.01 * expected_maximum(64), 1e-9);
}

TEST(Step, FreeCommunicationIsNeverExposed) {
  auto program =
      workload::build_program(workload::small_model(), workload::small_layout(8, 1, 1, 4, 3), workload::flat_kernels());
  const StepResult r = simulate(*program, constant(Duration{}));
  EXPECT_EQ(r.breakdown.exposed_tp + r.breakdown.exposed_dp + r.breakdown.bubble, Duration{});
  EXPECT_EQ(r.breakdown.compute + r.breakdown.optimizer, r.step_time);
}

/// Programs written by hand: one role with compute and tp, a second role with compute.
struct HandMade {
  program::Program p;
  HandMade() {
    p.labels = {"work", "exchange"};
    p.roles = {{"a", {"compute", "tp"}, {}}, {"b", {"compute", "pp"}, {}}};
    program::CollectiveCall call;
    call.bytes = Bytes{1};
    p.calls = {call};
  }
  program::OpId add(std::uint32_t role, std::uint16_t stream, program::OpClass cls, Duration d,
                    std::vector<program::OpId> after = {}) {
    program::Op op;
    op.kind = d > Duration{} ? program::OpKind::kDelay : program::OpKind::kCollective;
    op.cls = cls;
    op.stream = stream;
    op.role = program::RoleId{role};
    op.duration = d;
    if (op.kind == program::OpKind::kCollective) op.call = program::CallId{0}, op.label = 1;
    p.ops.push_back(op);
    for (const program::OpId a : after) p.deps.values.push_back(a);
    p.deps.close_row();
    return static_cast<program::OpId>(p.ops.size() - 1);
  }
  program::OpId work(std::uint32_t role, int us, std::vector<program::OpId> after = {}) {
    return add(role, 0, program::OpClass::kCompute, Duration::us(us), std::move(after));
  }
  program::OpId call(std::uint32_t role, program::OpClass cls, std::vector<program::OpId> after = {}) {
    return add(role, 1, cls, Duration{}, std::move(after));
  }
};

// 100 us of work at the same time as 40 us of communication that takes 15 % of the GPU: 34 us done, 66 us left.
TEST(Step, ComputeSlowsExactlyWhileACollectiveRuns) {
  HandMade h;
  h.work(0, 100);
  h.call(0, program::OpClass::kTp);
  StepOptions options;
  options.contention.tp = 0.15;
  const StepResult r = simulate(h.p, constant(Duration::us(40)), options);
  EXPECT_EQ(r.step_time, Duration::us(106));
  EXPECT_EQ(r.slowed, Duration::us(6));
  EXPECT_EQ(r.breakdown.compute, Duration::us(106));
  EXPECT_EQ(simulate(h.p, constant(Duration::us(40))).step_time, Duration::us(100));
}

TEST(Step, ACollectiveOfAnotherRoleSlowsNothing) {
  HandMade h;
  h.work(0, 100);
  h.call(1, program::OpClass::kPp);
  StepOptions options;
  options.contention.pp = 0.25;
  EXPECT_EQ(simulate(h.p, constant(Duration::us(40)), options).step_time, Duration::us(100));
}

// b waits for a's 50 us of work, then for the 7 us transfer: b is critical (60 us of its own against 50).
TEST(Step, GapsAreAttributedToTheirCause) {
  HandMade h;
  const program::OpId first = h.work(0, 50);
  const program::OpId sent = h.call(0, program::OpClass::kPp, {first});
  h.work(1, 60, {sent});
  const StepResult r = simulate(h.p, constant(Duration::us(7)));
  EXPECT_EQ(r.critical_role, program::RoleId{1});
  EXPECT_EQ(r.step_time, Duration::us(117));
  EXPECT_EQ(r.breakdown.compute, Duration::us(60));
  EXPECT_EQ(r.breakdown.bubble, Duration::us(50));
  EXPECT_EQ(r.breakdown.exposed_pp, Duration::us(7));
  EXPECT_EQ(r.calls.at(0).exposed, Duration::us(7));
  EXPECT_EQ(r.calls.at(0).label, 1u) << "as its operation is called";
  EXPECT_EQ(r.critical_time, (std::vector<Duration>{Duration::us(57), Duration::us(60)}));
}

// No link that is faster for the critical stage shortens its wait for the exchange of another one.
TEST(Step, TheExchangeOfGradientsOfAnotherStageIsBubble) {
  HandMade h;
  const program::OpId reduced = h.call(0, program::OpClass::kDp, {h.work(0, 50)});
  h.work(1, 60, {reduced});
  const StepResult r = simulate(h.p, constant(Duration::us(7)));
  EXPECT_EQ(r.critical_role, program::RoleId{1});
  EXPECT_EQ(r.breakdown.bubble, Duration::us(57));
  EXPECT_EQ(r.breakdown.exposed_dp, Duration{});
  EXPECT_EQ(r.calls.at(0).exposed, Duration{});
}

TEST(Step, CallsAreListedByExposedTimeThenByTotalTimeThenByNumber) {
  HandMade h;
  h.p.calls.assign(4, h.p.calls[0]);
  const std::uint64_t us[] = {20, 20, 30, 10};
  for (std::size_t c = 0; c < 4; ++c) h.p.calls[c].bytes = Bytes{us[c]};
  const program::OpId work = h.work(0, 100);
  for (std::uint32_t c = 0; c < 4; ++c) {  // only the last one does not run during the work
    h.call(0, program::OpClass::kTp, c == 3 ? std::vector{work} : std::vector<program::OpId>{});
    h.p.ops.back().call = program::CallId{c};
  }
  const StepResult r = simulate(h.p, [](const program::CollectiveCall& call) {
    return Duration::us(static_cast<std::int64_t>(count(call.bytes)));
  });
  std::vector<program::CallId> order;
  for (const CallUse& use : r.calls) order.push_back(use.call);
  EXPECT_EQ(order, (std::vector<program::CallId>{program::CallId{3}, program::CallId{2}, program::CallId{0},
                                                 program::CallId{1}}));
}

// A 30 us collective starts together with 20 us of work, so only 10 us of it are exposed. The end after the last
// compute counts too.
TEST(Step, OnlyTheUncoveredPartOfACollectiveIsExposed) {
  HandMade h;
  const program::OpId before = h.work(0, 5);
  const program::OpId gathered = h.call(0, program::OpClass::kTp, {before});
  h.work(0, 20, {before});
  const program::OpId after = h.work(0, 1, {gathered});
  h.call(0, program::OpClass::kDp, {after});
  const StepResult r = simulate(h.p, constant(Duration::us(30)));
  EXPECT_EQ(r.step_time, Duration::us(66));
  EXPECT_EQ(r.breakdown.exposed_tp, Duration::us(10));
  EXPECT_EQ(r.breakdown.exposed_dp, Duration::us(30));
  EXPECT_EQ(r.breakdown.compute, Duration::us(26));
  Duration waits;  // of the timeline's row of compute
  for (const trace::Span& span : r.timeline.spans) waits += span.exposed;
  EXPECT_EQ(waits, Duration::us(40));
}

// The second collective runs after the first one, and work waits for both.
TEST(Step, AllCollectivesOfAChainAreExposed) {
  HandMade h;
  const program::OpId before = h.work(0, 5);
  const program::OpId first = h.call(0, program::OpClass::kTp, {before});
  h.work(0, 1, {h.call(0, program::OpClass::kTp, {first})});
  const StepResult r = simulate(h.p, constant(Duration::us(30)));
  EXPECT_EQ(r.breakdown.exposed_tp, Duration::us(60));
  for (const trace::Span& span : r.timeline.spans)
    if (span.bytes > 0) EXPECT_EQ(span.exposed, Duration::us(30));
}

TEST(Step, OperationsThatWaitInACircleAreAnError) {
  HandMade h;
  h.work(0, 1, {program::OpId{1}});
  h.work(1, 1, {program::OpId{0}});
  FakeEngine engine(constant(Duration{}));
  const auto r = simulate_step(h.p, engine, {});
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.error().text().find("circle"), std::string::npos) << r.error().text();
}

TEST(Step, CausesFormAChainWithoutHolesAndSpansAreInOrder) {
  auto program =
      workload::build_program(workload::small_model(), workload::small_layout(2, 2, 2, 2, 4), workload::flat_kernels());
  const StepResult r = simulate(*program, constant(Duration::us(11)));
  const trace::Timeline& t = r.timeline;
  ASSERT_EQ(t.spans.size(), program::OpIndex(*program).count());
  for (std::size_t i = 0; i < t.spans.size(); ++i) {
    const trace::Span& s = t.spans[i];
    if (i > 0) EXPECT_LE(t.spans[i - 1].start, s.start);
    if (s.cause == kNone<trace::SpanId>) {
      EXPECT_EQ(s.start, SimTime{});
    } else {
      const trace::Span& cause = t.spans[index(s.cause)];
      EXPECT_EQ(cause.start + cause.duration, s.start);
    }
  }
}

TEST(Step, EveryDependencyEndsBeforeItsOperationStarts) {
  auto program =
      workload::build_program(workload::small_model(), workload::small_layout(4, 4, 2, 2, 8), workload::flat_kernels());
  FakeEngine engine(constant(Duration::us(23)));
  const auto run = run_program(*program, engine, {.tp = 0.15, .dp = 0.03, .pp = 0.03});
  ASSERT_TRUE(run.ok());
  const program::OpIndex ids(*program);
  for (std::uint32_t i = 0; i < ids.count(); ++i) {
    const program::OpIndex::Place place = ids.place(static_cast<program::OpId>(i));
    ids.for_each_dep(place, [&](program::OpId dep) {
      EXPECT_LE(run->at(*program, ids.place(dep)).end, run->at(*program, place).start);
    });
  }
}

TEST(Step, SameInputGivesTheSameSpans) {
  auto program =
      workload::build_program(workload::small_model(), workload::small_layout(2, 2, 2, 2, 4), workload::flat_kernels());
  const auto once = simulate(*program, constant(Duration::us(11))),
             twice = simulate(*program, constant(Duration::us(11)));
  for (std::size_t i = 0; i < once.timeline.spans.size(); ++i) {
    EXPECT_EQ(once.timeline.spans[i].start, twice.timeline.spans[i].start);
    EXPECT_EQ(once.timeline.spans[i].cause, twice.timeline.spans[i].cause);
  }
}

TEST(Step, SlowerCommunicationNeverShortensTheStep) {
  for (const auto& layout : {workload::small_layout(8, 1, 1, 4, 3), workload::small_layout(2, 4, 1, 2, 6)}) {
    auto program = workload::build_program(workload::small_model(), layout, workload::flat_kernels());
    Duration last;
    for (const int us : {0, 1, 10, 100, 1000}) {
      const Duration now = simulate(*program, constant(Duration::us(us))).step_time;
      EXPECT_GE(now, last);
      last = now;
    }
  }
}

TEST(Step, EveryKindOfOverlapShortensTheStep) {
  workload::LayoutSpec l = workload::small_layout(8, 1, 1, 4, 3);
  l.exchange.bucket_parameters = 2'000'000;
  const auto by_bytes = [](const program::CollectiveCall& c) {
    return transfer_time(c.bytes, BytesPerSecond{50'000'000'000});
  };
  const auto time = [&] {
    return simulate(*workload::build_program(workload::small_model(), l, workload::flat_kernels()), by_bytes).step_time;
  };
  const Duration all = time();
  l.overlap.grad_reduce = false;
  const Duration late = time();
  l.overlap.grad_reduce = true;
  l.overlap.param_gather = false;
  EXPECT_GT(time(), all);
  EXPECT_GT(late, all);
  l.overlap.param_gather = true;
  l.overlap.tp = true;
  EXPECT_LT(time(), all);
}

// A reduce-scatter that is pipelined with its GEMM leaves a quarter behind it, however short it is.
TEST(Step, TheLastChunkOfAPipelinedScatterIsExposed) {
  workload::LayoutSpec l = workload::small_layout(8, 1, 1, 1, 1);
  l.overlap.tp = true;
  const auto time = [&](Duration whole) {
    const program::Program p = workload::build_program(workload::small_model(), l, workload::flat_kernels()).value();
    Bytes most{0};
    for (const program::CollectiveCall& c : p.calls)
      if (c.op == collectives::Collective::kReduceScatter) most = std::max(most, c.bytes);
    const auto of = [&](const program::CollectiveCall& c) {
      const double part = static_cast<double>(count(c.bytes)) / static_cast<double>(count(most));
      return c.op == collectives::Collective::kReduceScatter && part < 0.3 ? duration_from_ps(whole.in_ps() * part)
                                                                           : Duration{};
    };
    return simulate(p, of).step_time;
  };
  const Duration whole = Duration::us(8);
  EXPECT_EQ(time(whole) - time({}), Duration::us(2) * (2 * workload::small_model().layers));
}

// One stage, m micro-batches: all exchanges of m - 1 pairs of passes are hidden, those of the first forward and the
// last backward pass are not. 7 layers have experts, each with 2 exchanges forward and 2 backward.
TEST(Step, PairsOfPassesHideTheExchangesOfExperts) {
  workload::LayoutSpec l;
  l.dp = l.ep = 8, l.batch.seq = 4096, l.batch.global = 8 * 6, l.sharding.zero = 0;
  l = workload::resolve_layout(l, workload::small_experts(), 0).value();
  const Duration x = Duration::us(20);
  const auto time = [&] {
    const auto only_ep = [&](const program::CollectiveCall& c) {
      return c.op == collectives::Collective::kAllToAllV ? x : Duration{};
    };
    return simulate(*workload::build_program(workload::small_experts(), l, workload::flat_kernels()), only_ep)
        .step_time;
  };
  const Duration exposed = time();
  l.experts.overlap = 1;
  const Duration hidden = exposed - time();
  EXPECT_EQ(hidden, x * (5 * 2 * 14));
  l.experts.overlap = 0.5;
  EXPECT_EQ(exposed - time(), x * (5 * 14));
}

// Source: arithmetic. 512 GPUs, 1024 x 4096 tokens in 8 s: 1024 tokens/s/GPU.
TEST(Metrics, AreArithmetic) {
  const workload::LayoutSpec l = workload::main_layout(1, 1);
  const Duration step = Duration::ps(8'000'000'000'000);
  const StepMetrics m = step_metrics(workload::llama3_70b(), l, step, 989e12, l.ranks());
  EXPECT_DOUBLE_EQ(m.tokens_per_s_per_gpu, 1024);
  EXPECT_NEAR(m.mfu, m.model_tflops_per_gpu / 989, 1e-12);
  EXPECT_GT(m.mfu_full_attention, m.mfu);
  EXPECT_DOUBLE_EQ(scaling_efficiency(Duration::us(10), Duration::us(9)), 0.9);
  const StepCost c = step_cost(l, step, 2.95, l.ranks());
  EXPECT_NEAR(c.usd_per_step, 512 * 2.95 * 8 / 3600, 1e-9);
  EXPECT_NEAR(c.usd_per_day_per_percent, 512 * 2.95 * 24 / 100, 1e-9);
}

}  // namespace
}  // namespace busbar::step
