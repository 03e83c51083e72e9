// Collectives under adaptive routing; lists of flows are in flow/flow_list_test.cc.
#include "busbar/lowering/adaptive.h"

#include <gtest/gtest.h>

#include "busbar/lowering/lowering.h"
#include "busbar/lowering/test_machines.h"

namespace busbar {
namespace {

/// Sixteen nodes of a GPU and a NIC on four leaves and two spines, the cable from leaf0 to spine0 at `health` of its
/// rate.
Topology leaves_and_spines(double health) {
  FabricSpec spec = test_fabric(FabricKind::kLeafSpine, 8);
  spec.levels[0].parallel = 2;
  TestCluster c = std::move(*test_cluster(spec, test_nics(1, true), 16));
  const Topology& so_far = c.builder.peek();
  for (std::uint32_t l = 0; l < so_far.link_count() && health < 1; l += 2)
    if (so_far.name(LinkId{l}) == "leaf0->spine0") c.builder.degrade(LinkId{l}, health);
  return std::move(c.builder).seal();
}

CollectiveCall all_to_all() {
  CollectiveCall call = test_call(16, "direct", 1 << 30);
  call.op = Collective::kAllToAll;
  return call;
}

LoweredCall lowered(const Topology& t, RoutingPolicy policy) {
  const Router router(t, policy);
  const Placement placement(router, t.gpus());
  Lowering lowering(router, placement, {});
  return lowering.lower(all_to_all()).value();
}

TEST(Adaptive, AllToAllLeansAwayFromSlowCables) {
  const Topology t = leaves_and_spines(0.25);
  const double spray = closed_form_ps(lowered(t, RoutingPolicy::kSpray));
  const double adaptive = closed_form_ps(lowered(t, RoutingPolicy::kAdaptive));
  // 48 pairs leave leaf0 over four cables, two of them of a quarter of the rate: 12 / 0.25 = 48 on a slow one, or 48
  // / 2.5.
  EXPECT_NEAR(adaptive / spray, 1 / 2.5, 0.02);
}

TEST(Adaptive, WhereNothingIsGainedItIsTheEqualSplitToTheLastBit) {
  const Topology t = leaves_and_spines(1);
  const LoweredCall spray = lowered(t, RoutingPolicy::kSpray), adaptive = lowered(t, RoutingPolicy::kAdaptive);
  EXPECT_EQ(closed_form_ps(adaptive), closed_form_ps(spray));
  EXPECT_EQ(adaptive.stages.at(0).weight, spray.stages.at(0).weight);
}

TEST(Adaptive, LeavesNoLeanBehind) {
  const Topology t = leaves_and_spines(0.25);
  const Router router(t, RoutingPolicy::kAdaptive);
  const Placement placement(router, t.gpus());
  Lowering lowering(router, placement, {});
  std::vector<LinkShare> before, after;
  ASSERT_TRUE(router.spread(t.gpus()[0], t.gpus()[15], placement.nic(0, 0), placement.nic(15, 0), 1, before).ok());
  ASSERT_TRUE(lowering.lower(all_to_all()).ok());
  ASSERT_TRUE(router.spread(t.gpus()[0], t.gpus()[15], placement.nic(0, 0), placement.nic(15, 0), 1, after).ok());
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].share, after[i].share);
}

}  // namespace
}  // namespace busbar
