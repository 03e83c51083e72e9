// Exchanges of many pairs that differ.
#include <gtest/gtest.h>

#include <cmath>

#include "busbar/engine/engine.h"
#include "busbar/engine/stage_solver.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/random_cluster.h"
#include "busbar/lowering/test_network.h"

namespace busbar::engine {
namespace {

/// An all_to_allv of random pieces, one in `nothing` of which is nothing.
program::CollectiveCall uneven_exchange(RandomStream& random, std::uint32_t ranks, std::uint64_t nothing) {
  program::CollectiveCall call = lowering::test_call(ranks, "direct", std::uint64_t{1} << 30);
  call.op = collectives::Collective::kAllToAllV;
  call.pairs.begin.assign(1, 0);
  for (std::uint32_t a = 0; a < ranks; ++a)
    for (std::uint32_t b = 0; b < ranks; ++b)
      call.pairs.begin.push_back(
          call.pairs.begin.back() +
          static_cast<std::uint32_t>(a == b || random.below(nothing) == 0 ? 0 : 1 + random.below(1000)));
  return call;
}

/// Every end solved again from the definition.
double event_by_event(const lowering::Lowering& lowering, const lowering::Stage& stage, const lowering::Component& c) {
  StageSolver solver(lowering.capacities().counts());
  std::vector<std::uint32_t> open(stage.members.begin() + c.begin, stage.members.begin() + c.end);
  std::vector<double> left;
  for (const lowering::Fluid& f : stage.fluids) left.push_back(f.bytes);
  double now = 0;
  while (!open.empty()) {
    solver.begin();
    for (const std::uint32_t f : open)
      solver.add(stage, f, [&](routing::CapacityId c) { return lowering.capacities().rate(c); });
    const auto rates = solver.solve();
    double step = INFINITY;
    for (std::size_t i = 0; i < open.size(); ++i) step = std::min(step, left[open[i]] / rates[i]);
    for (std::size_t i = 0; i < open.size(); ++i) left[open[i]] -= rates[i] * step;
    std::erase_if(open, [&](std::uint32_t f) { return left[f] <= 1e-9 * stage.fluids[f].bytes; });
    now += step;
  }
  return now;
}

TEST(Pairs, ThatDifferEndOneByOneOnTheirNarrowLinks) {
  RandomStream random(5, "uneven");
  std::uint32_t large = 0;
  for (int i = 0; i < 8; ++i) {
    SCOPED_TRACE(i);
    const topology::NodeTemplate node = lowering::random_server(random);
    const topology::Topology t = std::move(lowering::random_cluster(random, node, 5)).seal();
    const routing::Router router(
        t, random.below(2) == 0 ? topology::RoutingPolicy::kStatic : topology::RoutingPolicy::kSpray, random.next());
    const routing::Placement placement(router, t.gpus());
    lowering::Lowering lowering(router, placement, program::ProtocolModel());
    const Result<lowering::LoweredCall> call =
        lowering.lower(uneven_exchange(random, static_cast<std::uint32_t>(t.gpus().size()), 4));
    if (!call.ok()) continue;
    StageSolver solver(lowering.capacities().counts());
    for (const lowering::Stage& stage : call->stages)
      for (const lowering::Component& c : stage.components) {
        large += c.end - c.begin > 256;
        const double expected = event_by_event(lowering, stage, c);
        EXPECT_NEAR(run_component(solver, lowering.capacities(), stage, c, INFINITY, nullptr), expected,
                    1e-7 * expected);
        std::vector<double> left;
        EXPECT_NEAR(run_component(solver, lowering.capacities(), stage, c, expected / 2, &left), expected / 2,
                    1e-9 * expected);
        EXPECT_LT(left[0], stage.fluids[stage.members[c.begin]].bytes);
      }
  }
  EXPECT_GT(large, 1u);
}

// Receivers of one switch: each takes the bytes that it is sent / its rate, the busiest longest, as it is never idle.
TEST(Pairs, ThatAreTooManyForEndsOfTheirOwnTakeTheLoadOfALinkThatIsAlwaysFull) {
  RandomStream random(6, "many");
  const lowering::TestNetwork m(lowering::one_switch(128).seal());
  program::CollectiveCall call = uneven_exchange(random, 128, 1000);
  EngineOptions o;
  const auto flow = make_flow_engine(m.router, m.placement, o);
  const program::CallId id = flow->prepare(call).value();
  const lowering::Stage& stage = flow->lowered(id)->stages.at(0);
  ASSERT_GT(stage.fluids.size(), 16'000u);
  EXPECT_NEAR(static_cast<double>(flow->time_alone(id).in_ps()), stage.load_ps + stage.latency_ps,
              1e-9 * stage.load_ps + 2);
}

}  // namespace
}  // namespace busbar::engine
