#include "busbar/lowering/capacity_table.h"

#include <gtest/gtest.h>

#include "busbar/lowering/internal/lanes.h"
#include "busbar/topology/test_parts.h"

namespace busbar::lowering {
namespace {

topology::Topology spine_cluster() {
  return std::move(topology::test_cluster(topology::test_fabric(topology::FabricKind::kFatTree, 4),
                                          topology::test_nics(1, true), 16)
                       ->builder)
      .seal();
}

TEST(CapacityTable, GivesABundleTheRateOfItsCablesTogether) {
  const topology::Topology t = spine_cluster();
  const routing::Router router(t, topology::RoutingPolicy::kSpray);
  const CapacityTable table(router, {});
  ASSERT_NE(table.bundles(), nullptr);
  ASSERT_EQ(table.counts().bundles, table.bundles()->count());
  for (std::uint32_t b = 0; b < table.counts().bundles; ++b) {
    const routing::CapacityId bundle = routing::CapacityId::bundle(b);
    double rate = 0, wire = 0, parts = 0;
    table.for_each_link(bundle, [&](topology::LinkId l, double part) {
      rate += table.rate(l), wire += table.wire_rate(l), parts += part;
      EXPECT_EQ(table.latency_ps(l), table.latency_ps(bundle));
    });
    EXPECT_NEAR(table.rate(bundle), rate, 1e-12 * rate);
    EXPECT_NEAR(table.wire_rate(bundle), wire, 1e-12 * wire);
    EXPECT_NEAR(parts, 1, 1e-12);
    EXPECT_EQ(table.bundles()->of(table.link_of(bundle)), b);
  }
}

TEST(CapacityTable, HasNoBundlesWhereMessagesAreHeldUpOrTheShortcutIsOff) {
  const topology::Topology t = spine_cluster();
  const routing::Router router(t, topology::RoutingPolicy::kSpray);
  const std::vector<LinkDelay> delays{{topology::LinkId{3}, 0.5, Duration::us(1)},
                                      {topology::LinkId{3}, 0.25, Duration::us(4)}};
  const CapacityTable held(router, {}, {}, delays);
  EXPECT_EQ(held.bundles(), nullptr);
  ASSERT_TRUE(held.holds());
  EXPECT_EQ(held.held_ps(topology::LinkId{3}), 0.5e6 + 1e6);
  EXPECT_EQ(held.held_ps(topology::LinkId{4}), 0);
  const CapacityTable apart(router, {}, {}, {}, Shortcuts::none());
  EXPECT_EQ(apart.bundles(), nullptr);
  EXPECT_FALSE(apart.holds());
  EXPECT_EQ(apart.counts().bundles, 0u);
}

TEST(CapacityTable, ChangesTheClassesOfAWhatIfAndNoOthers) {
  const topology::Topology t = spine_cluster();
  const routing::Router router(t, topology::RoutingPolicy::kStatic);
  const std::uint16_t changed = t.link_class_index(topology::LinkId{0});
  const CapacityTable before(router, {});
  const CapacityTable after(router, {}, {{changed}, 2, 1, Duration::us(1000)});
  for (std::uint32_t l = 0; l < t.link_count(); ++l) {
    const topology::LinkId link{l};
    const bool is = t.link_class_index(link) == changed;
    EXPECT_EQ(after.rate(link), (is ? 2 : 1) * before.rate(link));
    EXPECT_EQ(after.latency_ps(link), is ? 0 : before.latency_ps(link));
    EXPECT_EQ(after.wire_rate(link), before.wire_rate(link));
    EXPECT_EQ(after.link_of(link), link);
  }
}

TEST(CapacityTable, TakesTheSharesOfLinksThatTheProtocolReaches) {
  const topology::Topology t = spine_cluster();
  const routing::Router router(t, topology::RoutingPolicy::kStatic);
  program::ProtocolModel protocol;
  protocol.share_network = 0.5;
  const CapacityTable whole(router, {}), half(router, protocol);
  for (std::uint32_t l = 0; l < t.link_count(); ++l)
    EXPECT_EQ(
        half.rate(topology::LinkId{l}),
        whole.rate(topology::LinkId{l}) * (topology::is_fabric(t.link_class(topology::LinkId{l}).kind) ? 0.5 : 1));
}

TEST(Lanes, TakeNicsInTurn) {
  const Lanes two{.count = 2, .channels = 4, .per_order = 2};  // two orders, so lane 1 begins behind them
  EXPECT_EQ(two.nic(0, 0), 0u);
  EXPECT_EQ(two.nic(3, 0), 1u);
  EXPECT_EQ(two.nic(3, 1), 3u);
  const Lanes strided{.count = 2, .channels = 4, .per_order = 1, .stride = 1};
  EXPECT_EQ(strided.nic(3, 1), 4u);
}

}  // namespace
}  // namespace busbar::lowering
