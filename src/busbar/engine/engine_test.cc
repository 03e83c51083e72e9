#include "busbar/engine/engine.h"

#include <gtest/gtest.h>

#include "busbar/base/random.h"
#include "busbar/collectives/builders.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/test_machines.h"
#include "busbar/topology/selector.h"

namespace busbar::engine {
namespace {

struct Machine {
  topology::Topology topology;
  routing::Router router;
  routing::Placement placement;
  explicit Machine(topology::TopologyBuilder b, topology::RoutingPolicy policy = topology::RoutingPolicy::kStatic)
      : topology(std::move(b).seal()), router(topology, policy), placement(router, topology.gpus()) {}
  std::unique_ptr<Engine> engine(bool flow, const Shortcuts& shortcuts = {}) const {
    EngineOptions o;
    o.shortcuts = shortcuts;
    return flow ? make_flow_engine(router, placement, o) : make_analytic_engine(router, placement, o);
  }
  double milliseconds(bool flow, const program::CollectiveCall& call, const Shortcuts& shortcuts = {}) const {
    const auto e = engine(flow, shortcuts);
    const program::CallId id = e->prepare(call).value();
    e->start(id, 1, SimTime());
    const auto done = e->advance(SimTime::max());
    EXPECT_TRUE(done.has_value());
    EXPECT_EQ(done->at - SimTime(), e->time_alone(id));
    return done->at.since_start().in_us() / 1000;
  }
};

// Slower kernels take longer for the same bytes, whoever else uses the links.
TEST(Engines, ASlowedCallTakesLongerAndLoadsLinksWithTheSameBytes) {
  const Machine m(lowering::one_switch(8));
  for (const bool flow : {false, true}) {
    const auto e = m.engine(flow);
    program::CollectiveCall call = lowering::test_call(8, "ring", lowering::kGiB);
    const program::CallId alone = e->prepare(call).value();
    call.slowdown = 1.25;
    const program::CallId slowed = e->prepare(call).value();
    ASSERT_NE(alone, slowed);
    EXPECT_NEAR(e->time_alone(slowed).in_us(), 1.25 * e->time_alone(alone).in_us(), 1e-5);
    std::vector<double> bytes(m.topology.link_count()), same = bytes;
    e->add_bytes_of(alone, bytes);
    e->add_bytes_of(slowed, same);
    for (std::size_t l = 0; l < bytes.size(); ++l) EXPECT_NEAR(same[l], bytes[l], 1e-6 * bytes[l]);
    e->start(slowed, 1, SimTime());
    EXPECT_EQ(e->advance(SimTime::max())->at - SimTime(), e->time_alone(slowed));
  }
}

// What lowered calls take is tested there; here, that both engines take it, of all kinds of steps.
TEST(Engines, TakeTheClosedFormOfACallAloneWhereNothingContends) {
  const std::pair<collectives::Collective, const char*> calls[] = {
      {collectives::Collective::kAllReduce, "ring"},   {collectives::Collective::kAllReduce, "tree"},
      {collectives::Collective::kAllReduce, "nvls"},   {collectives::Collective::kAllReduce, "halving_doubling"},
      {collectives::Collective::kAllGather, "direct"}, {collectives::Collective::kAllToAll, "pairwise"}};
  topology::TopologyBuilder slow = lowering::one_switch(8);
  slow.degrade(topology::LinkId{2 * 5}, 0.5);
  for (const Machine& m :
       {Machine(lowering::one_switch(8)), Machine(std::move(slow)), Machine(lowering::pods_of_eight(1, true))})
    for (const auto& [op, algorithm] : calls)
      for (const std::uint32_t chunks : {1u, 16u})
        for (const bool flow : {false, true}) {
          EngineOptions o;
          o.protocol.step_scale_up = o.protocol.step_server = o.protocol.step_network = Duration::us(2);
          o.protocol.channel_rate = BytesPerSecond{200'000'000'000};
          o.delays = {{topology::LinkId{2}, 0.01, Duration::us(50)}};
          const auto e =
              flow ? make_flow_engine(m.router, m.placement, o) : make_analytic_engine(m.router, m.placement, o);
          EXPECT_FALSE(e->prepare(lowering::test_call(9, "ring", lowering::kGiB)).ok()) << "more ranks than GPUs";
          program::CollectiveCall call = lowering::test_call(8, algorithm, lowering::kGiB, chunks);
          call.op = op;
          const auto id = e->prepare(call);
          if (!id.ok()) continue;  // no switch reduces
          EXPECT_LE(e->least_time(call), e->time_alone(*id));
          if (chunks == 1 && call.algorithm == "ring") EXPECT_GT(e->least_time(call), o.protocol.launch);
          const double ps = lowering::closed_form_ps(*e->lowered(*id));
          EXPECT_NEAR(static_cast<double>(e->time_alone(*id).in_ps()), ps, 1 + 1e-9 * ps) << algorithm << flow;
        }
}

TEST(Engines, FoldingChangesNothing) {
  topology::TopologyBuilder b = lowering::pods_of_eight(16);
  b.degrade(topology::LinkId{4}, 0.5);
  b.degrade(topology::LinkId{4 + 2 * 16 * 5}, 0.25);
  const Machine m(std::move(b));
  for (const char* algorithm : {"ring", "tree", "hierarchical"})
    for (const std::uint32_t chunks : {1u, 16u})
      EXPECT_EQ(m.milliseconds(true, lowering::test_call(128, algorithm, lowering::kGiB, chunks)),
                m.milliseconds(true, lowering::test_call(128, algorithm, lowering::kGiB, chunks), Shortcuts::none()))
          << algorithm << chunks;
}

TEST(Engines, StopWhenTheyAreAskedTo) {
  const Machine m(lowering::one_switch(4));
  volatile std::sig_atomic_t stop = 0;
  EngineOptions o;
  o.stop = &stop;
  const auto flow = make_flow_engine(m.router, m.placement, o),
             analytic = make_analytic_engine(m.router, m.placement, o);
  const program::CallId a = flow->prepare(lowering::pair_transfer(0, 3, 900'000'000)).value();
  flow->start(a, 1, SimTime());
  flow->start(a, 2, SimTime());
  EXPECT_TRUE(flow->advance(SimTime::max()).has_value());
  EXPECT_TRUE(flow->status().ok());
  stop = 1;
  EXPECT_FALSE(flow->advance(SimTime::max()).has_value());
  EXPECT_FALSE(flow->status().ok());
  EXPECT_FALSE(analytic->status().ok());
  EXPECT_FALSE(flow->prepare(lowering::test_call(4, "ring", lowering::kGiB)).ok());
  EXPECT_FALSE(analytic->prepare(lowering::test_call(4, "ring", lowering::kGiB)).ok());
}

// Two transfers into one GPU: 450 GB/s shared. The short one ends at 2 x its time alone, then the long one speeds up.
TEST(FlowEngine, TransfersShareALinkAndFreeItWhenTheyEnd) {
  const Machine m(lowering::one_switch(4));
  const auto e = m.engine(true);
  const program::CallId small = e->prepare(lowering::pair_transfer(0, 3, 450'000'000)).value();    // 1 ms + 1 us alone
  const program::CallId large = e->prepare(lowering::pair_transfer(1, 3, 1'350'000'000)).value();  // 3 ms + 1 us alone
  e->start(small, 1, SimTime());
  e->start(large, 2, SimTime());
  const auto first = e->advance(SimTime::max()), second = e->advance(SimTime::max());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->tag, 1u);
  EXPECT_NEAR(first->at.since_start().in_us(), 2000, 2);
  EXPECT_NEAR(second->at.since_start().in_us(), 4000, 3);
  EXPECT_FALSE(e->advance(SimTime::max()).has_value());
}

TEST(FlowEngine, ALateStarterSlowsARunThatWentAlone) {
  const Machine m(lowering::one_switch(4));
  const auto e = m.engine(true);
  const program::CallId a = e->prepare(lowering::pair_transfer(0, 3, 900'000'000)).value();  // 2 ms alone
  const program::CallId b = e->prepare(lowering::pair_transfer(1, 3, 900'000'000)).value();
  e->start(a, 1, SimTime());
  EXPECT_FALSE(e->advance(SimTime::at(Duration::us(1000))).has_value());
  e->start(b, 2, SimTime::at(Duration::us(1000)));  // a has half left: both share until a ends at 3 ms, b ends at 4 ms
  const auto first = e->advance(SimTime::max()), second = e->advance(SimTime::max());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->tag, 1u);
  EXPECT_NEAR(first->at.since_start().in_us(), 3000, 3);
  EXPECT_NEAR(second->at.since_start().in_us(), 4000, 4);
}

TEST(FlowEngine, ConservesBytesOnLinks) {
  const Machine m(lowering::one_switch(8));
  const auto e = m.engine(true);
  const program::CallId id = e->prepare(lowering::test_call(8, "ring", 8000)).value();
  e->start(id, 1, SimTime());
  e->start(id, 2, SimTime());
  while (e->advance(SimTime::max())) {
  }
  for (const double bytes : e->link_bytes()) EXPECT_NEAR(bytes, 2 * 2 * 7 * 1000, 1e-6);  // 2(n-1)/n S, twice
}

// A call that shared no link so far may be added late: it ends, and shares links, as if it had been added in time.
TEST(FlowEngine, ACallStartedInThePastSharesAsIfItHadBeenThere) {
  const Machine m(lowering::pods_of_eight(2));
  program::CollectiveCall inside = lowering::test_call(8, "ring", lowering::kGiB),
                          across = lowering::test_call(16, "ring", lowering::kGiB);
  const auto ends = [&](bool late) {
    const auto e = m.engine(true);
    const program::CallId a = e->prepare(inside).value(), b = e->prepare(across).value();
    EXPECT_TRUE(e->times_hold());
    EXPECT_FALSE(e->apart(a, b));
    const SimTime begin = SimTime::at(Duration::us(100)), join = SimTime::at(Duration::us(900));
    if (!late) e->start(a, 1, begin);
    EXPECT_FALSE(e->advance(join).has_value());
    if (late) e->start(a, 1, begin);
    e->start(b, 2, join);
    std::vector<std::pair<std::uint64_t, SimTime>> out;
    while (const auto done = e->advance(SimTime::max())) out.emplace_back(done->tag, done->at);
    return out;
  };
  EXPECT_EQ(ends(true), ends(false));
  EXPECT_EQ(ends(true).size(), 2u);
}

}  // namespace
}  // namespace busbar::engine
