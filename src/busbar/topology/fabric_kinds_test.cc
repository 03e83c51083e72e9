#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "busbar/topology/test_parts.h"
#include "busbar/topology/tiers.h"

namespace busbar::topology {
namespace {

struct BuiltKind {
  FabricPlan plan;
  Topology topology;
};

/// Nodes with NICs only.
Result<BuiltKind> build_kind(const FabricSpec& s, std::uint32_t nodes, std::uint32_t nics) {
  BUSBAR_ASSIGN(TestCluster c, test_cluster(s, test_nics(nics), nodes));
  return BuiltKind{std::move(c.plan), std::move(c.builder).seal()};
}

/// The number of devices that live cables connect to `from`, and the hops to the farthest.
std::pair<std::size_t, int> reach(const Topology& t, DeviceId from) {
  std::vector<int> hops(t.device_count(), -1);
  std::vector<DeviceId> queue{from};
  hops[index(from)] = 0;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const LinkId l : t.out_links(queue[head])) {
      if (hops[index(t.to(l))] >= 0) continue;
      hops[index(t.to(l))] = hops[index(queue[head])] + 1;
      queue.push_back(t.to(l));
    }
  }
  return {queue.size(), hops[index(queue.back())]};
}

std::size_t cables_to(const Topology& t, DeviceId d, DeviceKind to) {
  std::size_t n = 0;
  for (const LinkId l : t.out_links(d)) n += t.kind(t.to(l)) == to;
  return n;
}

TEST(FatTree, ThreeTiersOfRPortsHoldAQuarterOfTheCube) {
  for (const std::uint32_t r : {4u, 6u, 8u, 16u}) {
    const BuiltKind b = build_kind(test_fabric(FabricKind::kFatTree, r), r * r * r / 4, 1).value();
    EXPECT_EQ(b.plan.leaves(), r * r / 2);  // Al-Fares et al.: r pods of r/2 leaves and r/2 spines, r^2/4 cores
    EXPECT_EQ(b.plan.spines(), r * r / 2);
    EXPECT_EQ(b.plan.cores(), r * r / 4);
    EXPECT_EQ(reach(b.topology, DeviceId{0}), std::pair(std::size_t{b.topology.device_count()}, 6));
    for (const DeviceId d : b.topology.fabric_switches()) EXPECT_EQ(b.topology.out_links(d).size(), r);
    EXPECT_FALSE(plan_fabric(test_fabric(FabricKind::kFatTree, r), r * r * r / 4 + 1, 1).ok());
  }
}

TEST(FatTree, StatesTiersAndOversubscriptionAndParallelCablesOfEach) {
  FabricSpec s = test_fabric(FabricKind::kFatTree, 12);
  s.levels[0].oversubscription = 2;
  s.levels[1].oversubscription = 3;
  const BuiltKind b = build_kind(s, 144, 1).value();
  EXPECT_GT(b.plan.cores(), 0u);
  for (const DeviceId d : b.topology.fabric_switches()) {
    const auto down = cables_to(b.topology, d, DeviceKind::kLeaf), up = cables_to(b.topology, d, DeviceKind::kCore);
    if (b.topology.kind(d) == DeviceKind::kSpine) EXPECT_LE(down, 3 * up);
    if (b.topology.kind(d) == DeviceKind::kLeaf) EXPECT_EQ(cables_to(b.topology, d, DeviceKind::kSpine), 4u);
  }
  s.tiers = 2;
  EXPECT_FALSE(plan_fabric(s, 144, 1).ok());  // 8 NICs on each of at most 12 leaves
  FabricSpec p = test_fabric(FabricKind::kFatTree, 16);
  p.levels[0].parallel = 2;
  p.levels[1].parallel = 4;
  const FabricPlan plan = plan_fabric(p, 64, 1).value();
  EXPECT_EQ(plan.tiers[1].parallel, 2u);
  EXPECT_EQ(plan.tiers[2].parallel, 4u);
}

TEST(FatTree, AnyNumberOfTiersHoldsAsManyNicsAsItsPortsAllow) {
  for (const std::uint32_t r : {4u, 6u}) {
    std::uint32_t most = r;  // 2 (r / 2)^tiers NICs: each tier below the top uses half of its ports upwards
    for (std::uint32_t tiers = 2; tiers <= 5; ++tiers) {
      most = most * r / 2;
      FabricSpec s = test_fabric(FabricKind::kFatTree, r);
      s.tiers = tiers;
      const BuiltKind b = build_kind(s, most, 1).value();
      ASSERT_EQ(b.plan.tiers.size(), tiers);
      const auto hops = static_cast<int>(2 * tiers);
      EXPECT_EQ(reach(b.topology, DeviceId{0}), std::pair(std::size_t{b.topology.device_count()}, hops));
      for (const DeviceId d : b.topology.fabric_switches()) EXPECT_EQ(b.topology.out_links(d).size(), r);
      EXPECT_FALSE(plan_fabric(s, most + 1, 1).ok());
    }
  }
}

TEST(FatTree, NamesTiersAboveTheCores) {
  FabricSpec s = test_fabric(FabricKind::kFatTree, 4);
  s.tiers = 5;
  const Topology t = build_kind(s, 64, 1).value().topology;
  const std::vector<std::uint8_t> tiers = switch_tiers(t);
  EXPECT_EQ(tiers[index(t.find("core0").value())], 3);
  EXPECT_EQ(tiers[index(t.find("tier4_7").value())], 4);
  EXPECT_EQ(tiers[index(t.find("tier5_3").value())], 5);
  EXPECT_EQ(tiers[0], 0);
  EXPECT_EQ(tier_name(3), "core");
  EXPECT_EQ(tier_name(5), "tier 5");
}

TEST(FatTree, FasterUplinksAreFewerAndSlowerNicsTakePartsOfPorts) {
  FabricSpec s = test_fabric(FabricKind::kLeafSpine, 64);  // 64 ports of 100 GB/s, two NICs of 50 GB/s per port
  for (TierSpec& tier : s.levels) {
    tier.switches.port_rate = tier.up.wire_rate = BytesPerSecond{100'000'000'000};
    tier.switches.splits = 2;
  }
  const FabricPlan plan = plan_fabric(s, 128, 1).value();
  EXPECT_EQ(plan.down, 64u);  // 32 ports
  EXPECT_EQ(plan.tiers[1].group * plan.tiers[1].parallel, 32u);
  EXPECT_EQ(plan.oversubscription, 1);
  EXPECT_TRUE(plan_fabric(s, 4096, 1).ok());  // 64 leaves of 64 NICs
  s.tiers = 2;
  s.planes = 1;  // otherwise two
  EXPECT_FALSE(plan_fabric(s, 4097, 1).ok());
  s.levels[0].switches.port_rate = BytesPerSecond{50'000'000'000};
  EXPECT_THAT(
      plan_fabric(s, 128, 1).error().message,
      testing::HasSubstr("a cable of 800 Gb/s does not go into the ports of a switch (64 ports), which have 400"));
}

/// Rate in bytes per second of the cables from `d` to switches of tier `to` (0: NICs).
double rate_to(const Topology& t, const std::vector<std::uint8_t>& tiers, DeviceId d, std::uint8_t to) {
  double sum = 0;
  for (const LinkId l : t.out_links(d))
    if (tiers[index(t.to(l))] == to) sum += static_cast<double>(per_second(t.link_class(l).wire_rate));
  return sum;
}

RC_GTEST_PROP(FatTree, KeepsPortsAndOversubscriptionOfEveryTier, ()) {
  const auto kind = *rc::gen::element(FabricKind::kLeafSpine, FabricKind::kFatTree, FabricKind::kRailOptimised);
  FabricSpec s = test_fabric(kind, *rc::gen::element(8u, 12u, 16u, 32u));
  s.tiers = *rc::gen::inRange(2u, 6u);
  s.planes = 1;
  s.levels.resize(s.tiers, s.levels[0]);
  const auto splits = *rc::gen::element(1u, 2u, 4u);
  for (TierSpec& tier : s.levels) {
    tier.oversubscription = *rc::gen::element(1.0, 1.5, 3.0);
    tier.parallel = *rc::gen::element(0u, 0u, 1u, 2u);
    tier.up.wire_rate = *rc::gen::element(BytesPerSecond{50'000'000'000}, BytesPerSecond{100'000'000'000});
    tier.switches.port_rate = BytesPerSecond{100'000'000'000};
    tier.switches.splits = splits;
  }
  const auto nics = *rc::gen::inRange(1u, 5u);
  auto r = build_kind(s, *rc::gen::inRange(2u, 200u), nics);
  if (!r.ok() || r->plan.leaves() == 1) return;
  const Topology& t = r->topology;
  const std::vector<std::uint8_t> tiers = switch_tiers(t);
  RC_ASSERT(r->plan.tiers.size() == s.tiers);
  for (const DeviceId d : t.fabric_switches()) {
    const std::uint8_t own = tiers[index(d)];
    const TierSpec& spec = s.tier(own - 1u);
    std::uint64_t taken = 0;
    for (const LinkId l : t.out_links(d)) {
      const bool half = per_second(t.link_class(l).wire_rate) == 50'000'000'000 && splits >= 2;
      taken += half ? 1 : 2;
    }
    RC_ASSERT(taken <= 2 * spec.switches.ports);
    const double down = rate_to(t, tiers, d, own - 1), up = rate_to(t, tiers, d, own + 1);
    RC_ASSERT(own == s.tiers || down <= up * spec.oversubscription * (1 + 1e-9));
  }
  RC_ASSERT(reach(t, DeviceId{0}).first == t.device_count());
}

TEST(Planes, PortsAreSplitWhereOnePlaneDoesNotSuffice) {
  FabricSpec s = test_fabric(FabricKind::kRailOptimised, 8);
  EXPECT_FALSE(plan_fabric(s, 65, 2).ok());  // 8^3 / 4 = 128 NICs
  s.levels[0].switches.splits = 2;
  EXPECT_EQ(plan_fabric(s, 64, 2).value().planes, 1u);
  const BuiltKind b = build_kind(s, 65, 2).value();
  EXPECT_EQ(b.plan.planes, 2u);
  const Topology& t = b.topology;
  double rate = 0;
  for (const LinkId l : t.out_links(DeviceId{0})) rate += t.payload_rate(l);
  EXPECT_EQ(t.out_links(DeviceId{0}).size(), 2u);
  EXPECT_DOUBLE_EQ(rate, 50e9);  // exactly the rate of the port
  for (const DeviceId d : t.fabric_switches()) EXPECT_LE(t.out_links(d).size(), 16u);
}

TEST(Planes, AreJoinedOnlyByTheirNics) {
  FabricSpec s = test_fabric(FabricKind::kLeafSpine, 8);
  s.planes = 2;
  s.plane_order = PlaneOrder::kByNic;
  const BuiltKind b = build_kind(s, 8, 4).value();
  EXPECT_EQ(b.plan.leaves(), 8u);
  EXPECT_EQ(reach(b.topology, DeviceId{0}).first, (b.topology.device_count()) / 2);
  s.planes = 3;
  EXPECT_THAT(plan_fabric(s, 8, 4).error().message, testing::HasSubstr("4 NICs cannot be dealt evenly to 3 planes"));
}

TEST(RailOnly, JoinsNothingButTheNicsOfARail) {
  for (const std::uint32_t nodes : {16u, 40u}) {  // one switch per rail, then one tree per rail
    const BuiltKind b = build_kind(test_fabric(FabricKind::kRailOnly, 16), nodes, 4).value();
    EXPECT_EQ(b.plan.spines() == 0, nodes <= 16);
    const Topology& t = b.topology;
    EXPECT_EQ(reach(t, DeviceId{1}).first, t.device_count() / 4);
    EXPECT_EQ(b.plan.planes, 4u);
  }
}

TEST(Dragonfly, BalancedOneHoldsAPGAndIsThreeSwitchesWide) {
  for (const std::uint32_t p : {1u, 2u, 3u}) {  // a = 2p, h = p, g = a h + 1: Kim et al., ISCA 2008, section 3.1
    const std::uint32_t a = 2 * p, g = a * p + 1;
    const BuiltKind b = build_kind(test_fabric(FabricKind::kDragonfly, 4 * p - 1), a * p * g, 1).value();
    EXPECT_EQ(b.plan.leaves(), a * g);
    EXPECT_EQ(reach(b.topology, DeviceId{0}), std::pair(std::size_t{b.topology.device_count()}, 5));
    for (const DeviceId d : b.topology.fabric_switches()) EXPECT_EQ(b.topology.out_links(d).size(), 4 * p - 1);
    EXPECT_FALSE(plan_fabric(test_fabric(FabricKind::kDragonfly, 4 * p - 1), a * p * g + 1, 1).ok());
  }
}

TEST(Dragonfly, FewGroupsShareTheGlobalCablesEvenly) {
  FabricSpec s = test_fabric(FabricKind::kDragonfly, 64);
  s.dragonfly = {4, 8, 4, 6};
  const BuiltKind b = build_kind(s, 64, 2).value();
  EXPECT_EQ(b.plan.global_parallel, 16u);  // 8 * 6 / 3
  std::size_t global = 0;
  for (std::uint32_t l = 0; l < b.topology.link_count(); l += 2) {
    const auto name = [&](DeviceId d) { return index(d) - 128; };
    const DeviceId x = b.topology.from(LinkId{l}), y = b.topology.to(LinkId{l});
    if (index(x) >= 128 && index(y) >= 128) global += name(x) / 8 != name(y) / 8;
  }
  EXPECT_EQ(global, 6u * 16u);
  EXPECT_DOUBLE_EQ(b.plan.oversubscription, 1);  // 64 NICs of two groups, 4 pairs x 16 cables to the others
  s.dragonfly.globals = 1;
  EXPECT_DOUBLE_EQ(plan_fabric(s, 64, 2)->oversubscription, 8);  // 64 NICs, 4 pairs x 2 cables
  s.dragonfly.globals = 6;
  s.dragonfly.groups = 50;
  EXPECT_THAT(plan_fabric(s, 64, 2).error().message, testing::HasSubstr("48 cables leave a group"));
}

TEST(Torus, HasTwoCablesPerSwitchAndDimension) {
  FabricSpec s = test_fabric(FabricKind::kTorus, 16);
  s.dims = {4, 3, 2};
  const BuiltKind b = build_kind(s, 48, 1).value();
  const Topology& t = b.topology;
  EXPECT_EQ(t.fabric_switches().size(), 24u);
  for (const DeviceId d : t.fabric_switches()) EXPECT_EQ(t.out_links(d).size(), 2u + 5u);  // 2 + 2 + 1 neighbours
  EXPECT_EQ(reach(t, DeviceId{0}), std::pair(std::size_t{t.device_count()}, 2 + 2 + 1 + 1));
  s.dims = {0, 0, 0};
  EXPECT_THAT(plan_fabric(s, 48, 1).error().message, testing::HasSubstr("dims"));
}

}  // namespace
}  // namespace busbar::topology
