// The two fluid engines against each other.
#include <gtest/gtest.h>

#include <cmath>

#include "busbar/base/random.h"
#include "busbar/engine/engine.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/test_machines.h"
#include "busbar/lowering/test_network.h"

namespace busbar::engine {
namespace {

/// A machine of one of four sorts with some links degraded.
topology::TopologyBuilder random_machine(RandomStream& random, std::uint32_t& gpus) {
  const auto damage = [&](topology::TopologyBuilder b) {
    for (std::uint64_t d = random.below(4); d > 0; --d)
      b.degrade(static_cast<topology::LinkId>(random.below(b.peek().link_count())), 0.1 + 0.8 * random.uniform());
    return b;
  };
  switch (random.below(4)) {
    case 0:
      gpus = static_cast<std::uint32_t>(2 + random.below(30));
      return damage(lowering::one_switch(gpus));
    case 1:
      gpus = static_cast<std::uint32_t>(8 * (2 + random.below(4)));
      return damage(lowering::pods_of_eight(gpus / 8, true));
    case 2:
      gpus = 16;
      return damage(lowering::leaf_spine(4, 3, true));
    default:
      gpus = static_cast<std::uint32_t>(2 + random.below(10));
      return damage(lowering::single_gpu_nodes(gpus, static_cast<std::uint32_t>(1 + random.below(2))));
  }
}

/// No two fluids of a stage share a link.
bool nothing_contends(const lowering::LoweredCall& call) {
  for (const lowering::Stage& s : call.stages)
    for (const lowering::Component& c : s.components)
      if (c.end - c.begin > 1) return false;
  return true;
}

// Where no fluid shares a link with another the closed form is exact: both engines say the same time.
TEST(Engines, AnalyticEqualsFlowWhereNothingContends) {
  RandomStream random(12, "calm");
  std::uint32_t compared = 0, contended = 0;
  for (int i = 0; i < 200; ++i) {
    std::uint32_t gpus = 0;
    const lowering::TestNetwork m(random_machine(random, gpus).seal());
    EngineOptions o;
    if (random.below(2) == 0) o.protocol = lowering::some_protocol();
    const auto flow = make_flow_engine(m.router, m.placement, o);
    const auto analytic = make_analytic_engine(m.router, m.placement, o);
    const char* const algorithms[] = {"ring", "tree", "hierarchical", "halving_doubling", "pat", "nvls", "sharp"};
    const collectives::Collective ops[] = {collectives::Collective::kAllReduce, collectives::Collective::kAllGather,
                                           collectives::Collective::kBroadcast};
    program::CollectiveCall call =
        lowering::test_call(gpus, algorithms[random.below(7)], 1 + random.below(4 * lowering::kGiB),
                            static_cast<std::uint32_t>(random.below(3)));
    call.op = ops[random.below(3)];
    const auto id = flow->prepare(call);
    if (!id.ok()) continue;
    const Duration a = analytic->time_alone(analytic->prepare(call).value()), f = flow->time_alone(*id);
    if (nothing_contends(*flow->lowered(*id))) {
      ++compared;
      EXPECT_LE(std::abs((a - f).in_ps()), 1) << call.algorithm << " over " << gpus;
    } else {
      ++contended;
      EXPECT_LE(a.in_ps(), f.in_ps() + f.in_ps() / 1'000'000) << "a closed form knows no waiting";
    }
  }
  EXPECT_GT(compared, 40u);
  EXPECT_GT(contended, 5u);
}

// Sprayed traffic loads cables of a bundle alike, whatever their health: taken together or one by one, the time is the
// same, and the bound is the slow cable.
TEST(Engines, SlowCablesHoldBackTheirBundlesAsTheyDoOneByOne) {
  RandomStream random(8, "slow cables");
  std::uint32_t bundled = 0;
  for (int i = 0; i < 60; ++i) {
    topology::TopologyBuilder b = lowering::leaf_spine(4, 3);
    for (int d = 0; d < 6; ++d)
      b.degrade(static_cast<topology::LinkId>(random.below(b.peek().link_count())), 0.05 + 0.9 * random.uniform());
    const topology::Topology t = std::move(b).seal();
    const routing::Router router(t, topology::RoutingPolicy::kSpray);
    bundled += router.bundles() != nullptr;
    const routing::Placement placement(router, t.gpus());
    program::CollectiveCall call =
        lowering::test_call(16, random.below(2) == 0 ? "ring" : "direct", 1 + random.below(lowering::kGiB));
    if (call.algorithm == "direct") call.op = collectives::Collective::kAllToAll;
    EngineOptions one_by_one;
    one_by_one.shortcuts = Shortcuts::none();
    const auto together = make_flow_engine(router, placement, {}),
               apart = make_flow_engine(router, placement, one_by_one);
    const program::CallId a = together->prepare(call).value(), c = apart->prepare(call).value();
    const double ps = static_cast<double>(apart->time_alone(c).in_ps());
    EXPECT_NEAR(static_cast<double>(together->time_alone(a).in_ps()), ps, 1e-6 * ps);
    EXPECT_EQ(t.link_class_index(together->bound_by(a).link), t.link_class_index(apart->bound_by(c).link));
  }
  EXPECT_EQ(bundled, 60u);
}

}  // namespace
}  // namespace busbar::engine
