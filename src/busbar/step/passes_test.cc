// Running a pass as one event changes only the duration of the simulation.
#include <gtest/gtest.h>

#include <map>

#include "busbar/base/id.h"
#include "busbar/engine/engine.h"
#include "busbar/lowering/random_machine.h"
#include "busbar/program/test_passes.h"
#include "busbar/step/fake_engine.h"
#include "busbar/step/internal/link_courses.h"
#include "busbar/step/simulate.h"

namespace busbar::step {
namespace {

Duration some_us(RandomStream& random, std::uint64_t most) {
  return Duration::ps(static_cast<std::int64_t>(random.below(most * 1'000'000)));
}

constexpr program::OpClass kClasses[] = {program::OpClass::kCompute, program::OpClass::kTp, program::OpClass::kDp,
                                         program::OpClass::kPp, program::OpClass::kOther};

/// Roles with passes that are used repeatedly between other operations, with random dependencies.
class RandomProgram {
 public:
  RandomProgram(RandomStream& random, std::uint32_t ranks) : random_(random) {
    p_.labels = {"work"};
    const std::uint32_t roles = 1 + static_cast<std::uint32_t>(random.below(3));
    for (std::uint32_t r = 0; r < roles; ++r) {
      p_.roles.push_back({"role " + std::to_string(r), {"compute", "tp", "dp", "pp"}, {}});
      for (std::uint64_t n = random.below(3); n > 0; --n) passes_of_.emplace(r, add_pass());
    }
    for (std::uint64_t n = 2 + random.below(4); n > 0; --n) p_.calls.push_back(random_call(ranks));
    for (auto& pass : p_.passes)
      for (program::Op& op : pass.ops) op.call = any_call();
    for (std::uint64_t n = 5 + random.below(40); n > 0; --n) random.below(2) == 0 ? add_op() : add_use();
  }
  program::Program take() { return std::move(p_); }

 private:
  program::CallId any_call() { return static_cast<program::CallId>(random_.below(p_.calls.size())); }
  program::CollectiveCall random_call(std::uint32_t ranks) {
    const auto size = 2 + static_cast<std::uint32_t>(random_.below(ranks - 1));
    program::CollectiveCall call =
        lowering::test_call(size, "ring", 1 + random_.below(std::uint64_t{1} << (10 + random_.below(20))));
    call.groups.base = static_cast<std::uint32_t>(random_.below(ranks - size + 1));
    return call;
  }
  program::Op random_op(std::uint16_t streams) {
    program::Op op;
    op.kind = random_.below(2) == 0 ? program::OpKind::kDelay : program::OpKind::kCollective;
    op.cls = kClasses[random_.below(5)];
    op.stream = static_cast<std::uint16_t>(random_.below(streams));
    if (op.kind == program::OpKind::kDelay) op.duration = random_.below(8) == 0 ? Duration() : some_us(random_, 300);
    return op;
  }
  std::uint32_t add_pass() {
    program::Pass pass;
    outside_.push_back(static_cast<std::uint32_t>(random_.below(4)));
    const auto streams = static_cast<std::uint16_t>(1 + random_.below(3));
    for (std::uint64_t n = 1 + random_.below(10); n > 0; --n) {
      const auto i = pass.ops.size();
      for (std::uint64_t d = random_.below(3); i > 0 && d > 0; --d)
        pass.deps.values.push_back(static_cast<program::OpId>(random_.below(i)));
      if (outside_.back() > 0 && random_.below(3) == 0)
        pass.deps.values.push_back(
            static_cast<program::OpId>(program::Pass::kOutside | random_.below(outside_.back())));
      pass.deps.close_row();
      pass.ops.push_back(random_op(streams));
    }
    p_.passes.push_back(std::move(pass));
    return static_cast<std::uint32_t>(p_.passes.size() - 1);
  }
  program::OpId earlier() {
    return static_cast<program::OpId>(next_ - 1 - random_.below(std::min<std::uint64_t>(next_, 12)));
  }
  void add_op() {
    program::Op op = random_op(4);
    op.role = static_cast<program::RoleId>(random_.below(p_.roles.size()));
    op.call = any_call();
    for (std::uint64_t d = random_.below(3); next_ > 0 && d > 0; --d) p_.deps.values.push_back(earlier());
    p_.deps.close_row();
    p_.ops.push_back(op);
    ++next_;
  }
  void add_use() {
    if (passes_of_.empty() || next_ == 0) return add_op();
    const auto at = std::next(passes_of_.begin(), static_cast<std::ptrdiff_t>(random_.below(passes_of_.size())));
    p_.uses.push_back({at->second, static_cast<program::OpId>(next_), static_cast<program::RoleId>(at->first), 0});
    for (std::uint32_t d = 0; d < outside_[at->second]; ++d) p_.outside.values.push_back(earlier());
    p_.outside.close_row();
    next_ += static_cast<std::uint32_t>(p_.passes[at->second].ops.size());
  }

  RandomStream& random_;
  program::Program p_;
  std::vector<std::uint32_t> outside_;  ///< per pass
  std::multimap<std::uint32_t, std::uint32_t> passes_of_;
  std::uint32_t next_ = 0;
};

void expect_equal(const StepResult& a, const StepResult& b, const std::string& what) {
  ASSERT_EQ(a.step_time, b.step_time) << what;
  EXPECT_EQ(a.critical_role, b.critical_role) << what;
  EXPECT_EQ(a.critical_time, b.critical_time) << what;
  EXPECT_EQ(a.slowed, b.slowed) << what;
  EXPECT_EQ(a.breakdown.compute, b.breakdown.compute) << what;
  EXPECT_EQ(a.breakdown.exposed_tp, b.breakdown.exposed_tp) << what;
  EXPECT_EQ(a.breakdown.exposed_dp, b.breakdown.exposed_dp) << what;
  EXPECT_EQ(a.breakdown.exposed_pp, b.breakdown.exposed_pp) << what;
  EXPECT_EQ(a.breakdown.bubble, b.breakdown.bubble) << what;
  EXPECT_EQ(a.breakdown.other, b.breakdown.other) << what;
  ASSERT_EQ(a.calls.size(), b.calls.size());
  for (std::size_t i = 0; i < a.calls.size(); ++i) {
    EXPECT_EQ(a.calls[i].call, b.calls[i].call) << what;
    EXPECT_EQ(a.calls[i].count, b.calls[i].count) << what;
    EXPECT_EQ(a.calls[i].total, b.calls[i].total) << what;
    EXPECT_EQ(a.calls[i].exposed, b.calls[i].exposed) << what;
    EXPECT_EQ(a.calls[i].label, b.calls[i].label) << what;
  }
  ASSERT_EQ(a.timeline.spans.size(), b.timeline.spans.size()) << what;
  for (std::size_t i = 0; i < a.timeline.spans.size(); ++i) {
    const trace::Span &x = a.timeline.spans[i], &y = b.timeline.spans[i];
    ASSERT_TRUE(x.start == y.start && x.duration == y.duration && x.track == y.track && x.cause == y.cause)
        << what << ", span " << i;
  }
  ASSERT_EQ(a.timeline.links.size(), b.timeline.links.size()) << what;
  for (std::size_t l = 0; l < a.timeline.links.size(); ++l)
    EXPECT_EQ(a.timeline.links[l].bytes, b.timeline.links[l].bytes) << what;
}

// 1 ms of work, then an all-gather of 1 GB over two GPUs, which sends 0.5 GB over each link.
TEST(LinkCourses, AreBusyWhileCallsRunAndIdleElse) {
  const topology::Topology machine = lowering::one_switch(2).seal();
  const routing::Router router(machine, topology::RoutingPolicy::kStatic);
  const routing::Placement placement(router, machine.gpus());
  const auto engine = engine::make_flow_engine(router, placement, {});
  program::Program p;
  p.labels = {"work"};
  p.roles = {{"role", {"stream"}, {}}};
  p.calls = {lowering::test_call(2, "ring", 1'000'000'000)};
  p.calls[0].op = collectives::Collective::kAllGather;
  program::Op work, gather;
  work.duration = Duration::us(1000);
  gather.kind = program::OpKind::kCollective;
  gather.call = program::CallId{0};
  p.ops = {work, gather};
  p.deps.close_row();
  p.deps.close_row();
  StepOptions options;
  options.topology = &machine;
  const StepResult r = simulate_step(p, *engine, options).value();
  std::uint32_t followed = 0;
  for (const trace::LinkLoad& link : r.timeline.links) {
    ASSERT_EQ(link.course.size(), LinkCourses::kParts);
    ++followed;
    EXPECT_EQ(r.timeline.strings.at(link.name), machine.name(static_cast<topology::LinkId>(link.link)));
    const double begins = 1000 / r.step_time.in_us() * LinkCourses::kParts, while_it_runs = 0.5e9 / 450e9 * 1e6;
    for (std::size_t i = 0; i < link.course.size(); ++i) {
      if (static_cast<double>(i) + 1 < begins) EXPECT_EQ(link.course[i], 0) << i;
      if (static_cast<double>(i) > begins)
        EXPECT_NEAR(link.course[i], while_it_runs / (r.step_time.in_us() - 1000), 1e-6) << i;
    }
  }
  EXPECT_EQ(followed, 4u);
}

// Work waits for half of an all-gather of 1 GB over two GPUs, which sends 0.5 GB over each link at 450 GB/s; work of
// the same length as that half runs during the other one. Links are as busy in the wait as in the run of the call.
TEST(ExposedLoads, AreThoseOfTheTimeInWhichComputeWaits) {
  const topology::Topology machine = lowering::one_switch(2).seal();
  const routing::Router router(machine, topology::RoutingPolicy::kStatic);
  const routing::Placement placement(router, machine.gpus());
  const auto engine = engine::make_flow_engine(router, placement, {});
  program::Program p;
  p.labels = {"work"};
  p.roles = {{"role", {"compute", "tp"}, {}}};
  p.calls = {lowering::test_call(2, "ring", 1'000'000'000)};
  p.calls[0].op = collectives::Collective::kAllGather;
  program::Op beside, gather, after;
  beside.duration = Duration::us(500);
  gather.kind = program::OpKind::kCollective;
  gather.call = program::CallId{0};
  gather.stream = 1;
  after.duration = Duration::us(10'000);
  p.ops = {beside, gather, after};
  p.deps.close_row();
  p.deps.close_row();
  p.deps.values.push_back(program::OpId{1});
  p.deps.close_row();
  StepOptions options;
  options.topology = &machine;
  const StepResult r = simulate_step(p, *engine, options).value();
  const double call_us = r.calls.at(0).total.in_us();
  ASSERT_GT(call_us, 1000);
  ASSERT_EQ(r.timeline.links.size(), 4u);
  for (const trace::LinkLoad& link : r.timeline.links) {
    EXPECT_NEAR(link.while_exposed, 0.5e9 / 450e9 * 1e6 / call_us, 1e-6);
    EXPECT_LT(link.utilisation, 0.2);
  }
}

TEST(Passes, AsOneEventGiveTheTimesOfTheirOperationsOneByOne) {
  std::uint64_t whole = 0, split = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    RandomStream random(seed, "passes");
    const topology::Topology machine = lowering::random_machine(random);
    if (machine.gpus().size() < 2) continue;
    const routing::Router router(machine, topology::RoutingPolicy::kStatic);
    const routing::Placement placement(router, machine.gpus());
    const program::Program p = RandomProgram(random, static_cast<std::uint32_t>(machine.gpus().size())).take();
    StepOptions options;
    options.contention = {.tp = 0.15, .dp = random.below(2) == 0 ? 0.03 : 0.0, .pp = 0.02};
    options.topology = &machine;
    for (const bool flow : {true, false}) {
      const auto run = [&](const program::Program& program, bool passes) {
        const auto engine = flow ? engine::make_flow_engine(router, placement, {})
                                 : engine::make_analytic_engine(router, placement, {});
        options.shortcuts = passes ? Shortcuts{} : Shortcuts::none();
        auto result = simulate_step(program, *engine, options);
        EXPECT_TRUE(result.ok()) << result.error().text();
        return std::move(result).value();
      };
      const StepResult one_by_one = run(p, false);
      const std::string what = "seed " + std::to_string(seed) + (flow ? ", flow" : ", analytic");
      expect_equal(run(p, true), one_by_one, what);
      expect_equal(run(program::expanded(p), true), one_by_one, what + ", expanded");
    }
    const auto engine = engine::make_flow_engine(router, placement, {});
    const auto run = run_program(p, *engine, options.contention);
    for (const UseRun& use : run->uses) ++(use.split == UseRun::kWhole ? whole : split);
  }
  EXPECT_GT(whole, 500u);  // both occur, so that the test shows something
  EXPECT_GT(split, 500u);
}

/// Its calls never disturb each other.
class CountedStarts final : public FakeEngine {
 public:
  using FakeEngine::FakeEngine;
  bool times_hold() const override { return true; }
  bool apart(program::CallId, program::CallId) override { return true; }
  void start(program::CallId call, std::uint64_t tag, SimTime at) override {
    ++starts;
    FakeEngine::start(call, tag, at);
  }
  int starts = 0;
};

/// 20 times work and an all-reduce; a send takes 2 % of the first 100 us.
program::Program work_and_a_send() {
  program::Program p;
  p.labels = {"work"};
  p.roles = {{"role", {"compute", "tp", "pp"}, {}}};
  p.calls = {lowering::test_call(2, "ring", 100), lowering::test_call(2, "ring", 10)};
  program::Op send;
  send.kind = program::OpKind::kCollective;
  send.cls = program::OpClass::kPp;
  send.stream = 2;
  send.call = program::CallId{0};
  p.ops = {send};
  p.deps.close_row();
  program::Pass pass;
  for (std::uint32_t i = 0; i < 40; ++i) {
    program::Op op;
    op.kind = i % 2 == 0 ? program::OpKind::kDelay : program::OpKind::kCollective;
    op.cls = i % 2 == 0 ? program::OpClass::kCompute : program::OpClass::kTp;
    op.stream = i % 2;
    op.call = program::CallId{1};
    op.duration = Duration::us(50);
    if (i > 0) pass.deps.values.push_back(program::OpId{i - 1});
    pass.deps.close_row();
    pass.ops.push_back(op);
  }
  p.passes = {pass};
  p.uses = {{0, program::OpId{1}, program::RoleId{0}, 0}};
  p.outside.close_row();
  return p;
}

CountedStarts a_us_per_byte() {
  return CountedStarts(
      [](const program::CollectiveCall& call) { return Duration::us(static_cast<std::int64_t>(count(call.bytes))); });
}

TEST(Passes, AreOneEventAgainOnceASendHasEnded) {
  const program::Program p = work_and_a_send();
  const auto starts = [&](const Shortcuts& shortcuts) {
    CountedStarts engine = a_us_per_byte();
    const ProgramRun run = run_program(p, engine, {.tp = 0, .dp = 0, .pp = 0.02}, shortcuts).value();
    EXPECT_NEAR(run.length.in_us(), 20 * 60 + 90 * 0.02, 0.1);  // 10 of the first 100 us are spent on an all-reduce
    return engine.starts;
  };
  EXPECT_EQ(starts(Shortcuts::none()), 21);
  EXPECT_LE(starts({}), 4);
}

// The last operation waits for the first one of the pass, which ends before the pass is one event again, and for 5 ms
// of work elsewhere.
TEST(Passes, ThatAreOneEventAgainReleaseWhatWaitsForThemOnlyOnce) {
  program::Program p = work_and_a_send();
  p.roles.push_back({"other", {"compute", "tp"}, {}});
  program::Op elsewhere;
  elsewhere.kind = program::OpKind::kDelay;
  elsewhere.role = program::RoleId{1};
  elsewhere.duration = Duration::us(5000);
  program::Op last = elsewhere;
  last.stream = 1;
  last.duration = Duration::us(1);
  p.ops.insert(p.ops.end(), {elsewhere, last});
  p.deps.close_row();
  p.deps.values.insert(p.deps.values.end(), {program::OpId{1}, program::OpId{41}});
  p.deps.close_row();
  CountedStarts engine = a_us_per_byte();
  EXPECT_EQ(run_program(p, engine, {.tp = 0, .dp = 0, .pp = 0.02})->length, Duration::us(5001));
}

TEST(PassShape, RestsBeginWhereNoOperationIsUnderWay) {
  const auto run = [](std::int64_t start, std::int64_t end) {
    return OpRun{SimTime::at(Duration::ps(start)), SimTime::at(Duration::ps(end))};
  };
  EXPECT_EQ(rest_of({run(0, 10), run(10, 20), run(12, 15), run(20, 20), run(20, 30)}),
            (std::vector<std::uint32_t>{5, 4, 0, 2, 2}));
}

}  // namespace
}  // namespace busbar::step
