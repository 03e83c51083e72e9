#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "busbar/topology/fabric.h"

namespace busbar {
namespace {

FabricSpec spec(FabricKind kind, std::uint32_t ports) {
  FabricSpec s;
  s.kind = kind;
  s.leaf = s.spine = s.core = {"a switch", ports};
  s.nic_link.wire_rate = s.leaf_link.wire_rate = s.core_link.wire_rate = BytesPerSecond{50'000'000'000};
  s.nic_link.kind = s.leaf_link.kind = s.core_link.kind = LinkKind::kInfiniband;
  return s;
}

struct Built {
  FabricPlan plan;
  Topology topology;
};

/// Nodes of nothing but NICs.
Result<Built> build(const FabricSpec& s, std::uint32_t nodes, std::uint32_t nics) {
  NodeTemplate node;
  for (std::uint32_t i = 0; i < nics; ++i) {
    TemplateDevice nic;
    nic.name = "nic" + std::to_string(i);
    nic.device_class.kind = DeviceKind::kNic;
    node.devices.push_back(nic);
  }
  TopologyBuilder builder;
  const auto index = builder.add_template(node);
  Csr<DeviceId> rows;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const BlockId block = builder.add_block(index);
    for (std::uint32_t i = 0; i < nics; ++i) rows.values.push_back(builder.device(block, i));
    rows.close_row();
  }
  Built out;
  BUSBAR_ASSIGN(out.plan, build_fabric(s, rows, builder));
  out.topology = std::move(builder).seal();
  return out;
}

/// Devices that live cables join to `from`, and the hops to the farthest of them.
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

std::size_t cables(const Topology& t, DeviceId d, DeviceKind to) {
  std::size_t n = 0;
  for (const LinkId l : t.out_links(d)) n += t.kind(t.to(l)) == to;
  return n;
}

TEST(FatTree, ThreeTiersOfRPortsHoldAQuarterOfTheCube) {
  for (const std::uint32_t r : {4u, 6u, 8u, 16u}) {
    const Built b = build(spec(FabricKind::kFatTree, r), r * r * r / 4, 1).value();
    EXPECT_EQ(b.plan.leaves, r * r / 2);  // Al-Fares et al.: r pods of r/2 leaves and r/2 spines, r^2/4 cores
    EXPECT_EQ(b.plan.spines, r * r / 2);
    EXPECT_EQ(b.plan.cores, r * r / 4);
    EXPECT_EQ(reach(b.topology, DeviceId{0}), std::pair(std::size_t{b.topology.device_count()}, 6));
    for (const DeviceId d : b.topology.fabric_switches()) EXPECT_EQ(b.topology.out_links(d).size(), r);
    EXPECT_FALSE(plan_fabric(spec(FabricKind::kFatTree, r), r * r * r / 4 + 1, 1).ok());
  }
}

TEST(FatTree, StatesTiersAndOversubscriptionAndParallelCablesOfEach) {
  FabricSpec s = spec(FabricKind::kFatTree, 12);
  s.oversubscription = 2;
  s.spine_oversubscription = 3;
  const Built b = build(s, 144, 1).value();
  EXPECT_GT(b.plan.cores, 0u);
  for (const DeviceId d : b.topology.fabric_switches()) {
    const auto down = cables(b.topology, d, DeviceKind::kLeaf), up = cables(b.topology, d, DeviceKind::kCore);
    if (b.topology.kind(d) == DeviceKind::kSpine) EXPECT_LE(down, 3 * up);
    if (b.topology.kind(d) == DeviceKind::kLeaf) EXPECT_EQ(cables(b.topology, d, DeviceKind::kSpine), 4u);
  }
  s.tiers = 2;
  EXPECT_FALSE(plan_fabric(s, 144, 1).ok());  // 8 NICs on each of at most 12 leaves
  FabricSpec p = spec(FabricKind::kFatTree, 16);
  p.parallel = 2;
  p.core_parallel = 4;
  const FabricPlan plan = plan_fabric(p, 64, 1).value();
  EXPECT_EQ(plan.parallel, 2u);
  EXPECT_EQ(plan.core_parallel, 4u);
}

TEST(Planes, PortsAreSplitWhereOnePlaneDoesNotSuffice) {
  FabricSpec s = spec(FabricKind::kRailOptimised, 8);
  EXPECT_FALSE(plan_fabric(s, 65, 2).ok());  // 8^3 / 4 = 128 NICs
  s.leaf.splits = 2;
  EXPECT_EQ(plan_fabric(s, 64, 2).value().planes, 1u);
  const Built b = build(s, 65, 2).value();
  EXPECT_EQ(b.plan.planes, 2u);
  const Topology& t = b.topology;
  double rate = 0;
  for (const LinkId l : t.out_links(DeviceId{0})) rate += t.payload_rate(l);
  EXPECT_EQ(t.out_links(DeviceId{0}).size(), 2u);
  EXPECT_DOUBLE_EQ(rate, 50e9);  // no more and no less than the port had
  for (const DeviceId d : t.fabric_switches()) EXPECT_LE(t.out_links(d).size(), 16u);
}

TEST(Planes, AreJoinedOnlyByTheirNics) {
  FabricSpec s = spec(FabricKind::kLeafSpine, 8);
  s.planes = 2;
  s.plane_order = PlaneOrder::kByNic;
  const Built b = build(s, 8, 4).value();
  EXPECT_EQ(b.plan.leaves, 8u);
  EXPECT_EQ(reach(b.topology, DeviceId{0}).first, (b.topology.device_count()) / 2);
  s.planes = 3;
  EXPECT_THAT(plan_fabric(s, 8, 4).error().message, testing::HasSubstr("4 NICs cannot be dealt evenly to 3 planes"));
}

TEST(RailOnly, JoinsNothingButTheNicsOfARail) {
  for (const std::uint32_t nodes : {16u, 40u}) {  // one switch per rail, then a tree per rail
    const Built b = build(spec(FabricKind::kRailOnly, 16), nodes, 4).value();
    EXPECT_EQ(b.plan.spines == 0, nodes <= 16);
    const Topology& t = b.topology;
    EXPECT_EQ(reach(t, DeviceId{1}).first, t.device_count() / 4);
    EXPECT_EQ(b.plan.planes, 4u);
  }
}

TEST(Dragonfly, BalancedOneHoldsAPGAndIsThreeSwitchesWide) {
  for (const std::uint32_t p : {1u, 2u, 3u}) {  // a = 2p, h = p, g = a h + 1: Kim et al., ISCA 2008, section 3.1
    const std::uint32_t a = 2 * p, g = a * p + 1;
    const Built b = build(spec(FabricKind::kDragonfly, 4 * p - 1), a * p * g, 1).value();
    EXPECT_EQ(b.plan.leaves, a * g);
    EXPECT_EQ(reach(b.topology, DeviceId{0}), std::pair(std::size_t{b.topology.device_count()}, 5));
    for (const DeviceId d : b.topology.fabric_switches()) EXPECT_EQ(b.topology.out_links(d).size(), 4 * p - 1);
    EXPECT_FALSE(plan_fabric(spec(FabricKind::kDragonfly, 4 * p - 1), a * p * g + 1, 1).ok());
  }
}

TEST(Dragonfly, FewGroupsShareTheGlobalCablesEvenly) {
  FabricSpec s = spec(FabricKind::kDragonfly, 64);
  s.dragonfly = {4, 8, 4, 6};
  const Built b = build(s, 64, 2).value();
  EXPECT_EQ(b.plan.global_parallel, 16u);  // 8 * 6 / 3
  std::size_t global = 0;
  for (std::uint32_t l = 0; l < b.topology.link_count(); l += 2) {
    const auto name = [&](DeviceId d) { return index(d) - 128; };
    const DeviceId x = b.topology.from(LinkId{l}), y = b.topology.to(LinkId{l});
    if (index(x) >= 128 && index(y) >= 128) global += name(x) / 8 != name(y) / 8;
  }
  EXPECT_EQ(global, 6u * 16u);
  s.dragonfly.groups = 50;
  EXPECT_THAT(plan_fabric(s, 64, 2).error().message, testing::HasSubstr("48 cables leave a group"));
}

TEST(Torus, HasTwoCablesPerSwitchAndDimension) {
  FabricSpec s = spec(FabricKind::kTorus, 16);
  s.dims = {4, 3, 2};
  const Built b = build(s, 48, 1).value();
  const Topology& t = b.topology;
  EXPECT_EQ(t.fabric_switches().size(), 24u);
  for (const DeviceId d : t.fabric_switches()) EXPECT_EQ(t.out_links(d).size(), 2u + 5u);  // 2 + 2 + 1 neighbours
  EXPECT_EQ(reach(t, DeviceId{0}), std::pair(std::size_t{t.device_count()}, 2 + 2 + 1 + 1));
  s.dims = {0, 0, 0};
  EXPECT_THAT(plan_fabric(s, 48, 1).error().message, testing::HasSubstr("dims"));
}

}  // namespace
}  // namespace busbar
