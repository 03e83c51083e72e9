// Exchanges of all pairs taken together against the same pairs one by one.
#include <gtest/gtest.h>

#include <cmath>

#include "busbar/engine/engine.h"
#include "busbar/engine/stage_solver.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/random_machine.h"
#include "busbar/lowering/test_ground.h"

namespace busbar {
namespace {

/// Nodes of `random_server` on any fabric, some cables slower, some gone.
TopologyBuilder random_cluster(RandomStream& random, const NodeTemplate& node, std::uint32_t nodes) {
  const FabricKind kinds[] = {FabricKind::kLeafSpine, FabricKind::kRailOptimised, FabricKind::kFatTree,
                              FabricKind::kRailOnly,  FabricKind::kDragonfly,     FabricKind::kTorus};
  for (;;) {
    FabricSpec spec = test_fabric(kinds[random.below(6)], random.below(2) == 0 ? 8 : 16, 1 + random.below(2));
    spec.nic_link.latency = Duration::ns(static_cast<std::int64_t>(random.below(900)));
    for (TierSpec& tier : spec.levels) tier.up.latency = Duration::ns(static_cast<std::int64_t>(random.below(900)));
    const bool planes = spec.kind == FabricKind::kLeafSpine || spec.kind == FabricKind::kRailOptimised;
    if (planes && random.below(2) == 0) spec.planes = 2;
    Result<TestCluster> made = test_cluster(spec, node, nodes);
    if (!made.ok()) continue;
    TopologyBuilder& b = made->builder;
    for (std::uint64_t d = random.below(6); d > 0; --d)
      b.degrade(static_cast<LinkId>(random.below(b.peek().link_count())), 0.05 + 0.9 * random.uniform());
    const auto victim = static_cast<LinkId>(random.below(b.peek().link_count()));
    if (random.below(3) == 0 && is_fabric(b.peek().link_class(victim).kind)) b.fail(victim);
    return std::move(b);
  }
}

CollectiveCall random_exchange(RandomStream& random, std::uint32_t gpus) {
  const Collective ops[] = {Collective::kAllToAll, Collective::kAllGather, Collective::kReduceScatter,
                            Collective::kAllReduce};
  CollectiveCall call = test_call(gpus, "direct", 1 + random.below(std::uint64_t{4} << 30));
  call.op = ops[random.below(4)];
  call.channels = static_cast<std::uint32_t>(random.below(4));
  if (gpus % 2 == 0 && random.below(4) == 0) {  // every other GPU
    call.groups = one_group(gpus / 2);
    call.groups.inner[0].actor_stride = 2;
    call.groups.outer = {{2, 1, 0}};
  }
  return call;
}

struct Both {
  std::vector<double> bytes;
  double ps = 0, latest_ps = 0, floor_ps = 0;
  Duration flow;
  std::size_t fluids = 0;
};

Result<Both> timed(const Router& router, const Placement& placement, const ProtocolModel& protocol,
                   const CollectiveCall& call, bool together) {
  EngineOptions o;
  o.protocol = protocol;
  o.shortcuts = together ? Shortcuts{.pairs_apart = 0} : Shortcuts{}.without({Shortcut::kPairsAsOneFluid});
  Both out;
  const auto analytic = make_analytic_engine(router, placement, o), flow = make_flow_engine(router, placement, o);
  BUSBAR_ASSIGN(const CallId id, analytic->prepare(call));
  BUSBAR_ASSIGN(const CallId flow_id, flow->prepare(call));
  analytic->start(id, 0, SimTime());
  const LoweredCall& lowered = *analytic->lowered(id);
  out.bytes = analytic->link_bytes();
  out.ps = closed_form_ps(lowered);
  out.floor_ps = lowered.algorithm_floor_ps;
  out.flow = flow->time_alone(flow_id);
  for (const Stage& s : lowered.stages) out.latest_ps += s.latency_ps, out.fluids += s.fluids.size();
  return out;
}

TEST(Pairs, TakenTogetherLoadAndLastLikePairsOneByOne) {
  RandomStream random(4, "pairs");
  std::uint32_t compared = 0, unreachable = 0;
  for (int i = 0; i < 400; ++i) {
    SCOPED_TRACE(i);
    const NodeTemplate node = random_server(random);
    const Topology t = std::move(random_cluster(random, node, 2 + static_cast<std::uint32_t>(random.below(7)))).seal();
    const RoutingPolicy policies[] = {RoutingPolicy::kStatic, RoutingPolicy::kStatic, RoutingPolicy::kSpray,
                                      RoutingPolicy::kValiant, RoutingPolicy::kAdaptive};
    const Router router(t, policies[random.below(5)], random.next());
    const Placement placement(router, t.gpus());
    ProtocolModel protocol = random.below(2) == 0 ? some_protocol() : ProtocolModel();
    protocol.gpudirect = random.below(4) != 0;
    protocol.channel_rate = BytesPerSecond{random.below(3) == 0 ? std::uint64_t{3'000'000'000} : 0};
    const CollectiveCall call = random_exchange(random, static_cast<std::uint32_t>(t.gpus().size()));
    const Result<Both> apart = timed(router, placement, protocol, call, false),
                       together = timed(router, placement, protocol, call, true);
    ASSERT_EQ(apart.ok(), together.ok());
    if (!apart.ok()) {
      ++unreachable;
      continue;
    }
    ++compared;
    EXPECT_LE(together->fluids, std::max<std::size_t>(apart->fluids, 1));
    EXPECT_NEAR(together->ps, apart->ps, 1e-9 * apart->ps);
    EXPECT_NEAR(together->latest_ps, apart->latest_ps, 1e-9 * apart->latest_ps);
    EXPECT_NEAR(together->floor_ps, apart->floor_ps, 1e-9 * apart->floor_ps);
    EXPECT_NEAR(static_cast<double>(together->flow.in_ps()), static_cast<double>(apart->flow.in_ps()),
                1 + 1e-9 * static_cast<double>(apart->flow.in_ps()));
    double most = 0;
    for (const double b : apart->bytes) most = std::max(most, b);
    for (std::uint32_t l = 0; l < t.link_count(); ++l)
      ASSERT_NEAR(together->bytes[l], apart->bytes[l], 1e-9 * most) << t.name(LinkId{l});
  }
  EXPECT_GT(compared, 200u);
  EXPECT_LT(unreachable, 150u);
}

/// An all_to_allv of random pieces, one in `nothing` of which is nothing.
CollectiveCall uneven_exchange(RandomStream& random, std::uint32_t ranks, std::uint64_t nothing) {
  CollectiveCall call = test_call(ranks, "direct", std::uint64_t{1} << 30);
  call.op = Collective::kAllToAllV;
  call.pairs.begin.assign(1, 0);
  for (std::uint32_t a = 0; a < ranks; ++a)
    for (std::uint32_t b = 0; b < ranks; ++b)
      call.pairs.begin.push_back(
          call.pairs.begin.back() +
          static_cast<std::uint32_t>(a == b || random.below(nothing) == 0 ? 0 : 1 + random.below(1000)));
  return call;
}

/// Every end solved anew from the definition.
double event_by_event(const Lowering& lowering, const Stage& stage, const Component& c) {
  StageSolver solver(lowering.capacities().counts());
  std::vector<std::uint32_t> open(stage.members.begin() + c.begin, stage.members.begin() + c.end);
  std::vector<double> left;
  for (const Fluid& f : stage.fluids) left.push_back(f.bytes);
  double now = 0;
  while (!open.empty()) {
    solver.begin();
    for (const std::uint32_t f : open)
      solver.add(stage, f, [&](CapacityId c) { return lowering.capacities().rate(c); });
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
    const NodeTemplate node = random_server(random);
    const Topology t = std::move(random_cluster(random, node, 5)).seal();
    const Router router(t, random.below(2) == 0 ? RoutingPolicy::kStatic : RoutingPolicy::kSpray, random.next());
    const Placement placement(router, t.gpus());
    Lowering lowering(router, placement, ProtocolModel());
    const Result<LoweredCall> call =
        lowering.lower(uneven_exchange(random, static_cast<std::uint32_t>(t.gpus().size()), 4));
    if (!call.ok()) continue;
    StageSolver solver(lowering.capacities().counts());
    for (const Stage& stage : call->stages)
      for (const Component& c : stage.components) {
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
  const Ground m(one_switch(128).seal());
  CollectiveCall call = uneven_exchange(random, 128, 1000);
  EngineOptions o;
  const auto flow = make_flow_engine(m.router, m.placement, o);
  const CallId id = flow->prepare(call).value();
  const Stage& stage = flow->lowered(id)->stages.at(0);
  ASSERT_GT(stage.fluids.size(), 16'000u);
  EXPECT_NEAR(static_cast<double>(flow->time_alone(id).in_ps()), stage.load_ps + stage.latency_ps,
              1e-9 * stage.load_ps + 2);
}

}  // namespace
}  // namespace busbar
