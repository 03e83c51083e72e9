#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "busbar/topology/connectivity.h"
#include "busbar/topology/test_parts.h"

namespace busbar::topology {
namespace {

struct Built {
  FabricPlan plan;
  Topology topology;
  Csr<DeviceId> nics;  ///< [node][rail]
};

/// Nodes with pairs of a GPU and a NIC.
Result<Built> build(const FabricSpec& s, std::uint32_t nodes, std::uint32_t nics) {
  BUSBAR_ASSIGN(TestCluster c, test_cluster(s, test_nics(nics, true), nodes));
  return Built{std::move(c.plan), std::move(c.builder).seal(), std::move(c.nics)};
}

/// The switch that a NIC's cable leads to.
DeviceId leaf_of(const Topology& t, DeviceId nic) {
  DeviceId leaf = kNone<DeviceId>;
  for (const LinkId l : t.out_links(nic)) {
    if (!is_fabric(t.link_class(l).kind)) continue;
    EXPECT_EQ(leaf, kNone<DeviceId>) << t.name(nic) << " has two cables";
    leaf = t.to(l);
  }
  return leaf;
}

/// The number of cables from `d` to devices of that kind.
std::size_t cables(const Topology& t, DeviceId d, DeviceKind to) {
  std::size_t n = 0;
  for (const LinkId l : t.out_links(d)) n += t.kind(t.to(l)) == to;
  return n;
}

// Table of larger configurations in NVIDIA's DGX SuperPOD reference architecture (DGX B200, same 64-port switches, 8
// NICs): docs.nvidia.com/dgx-superpod/reference-architecture-scalable-infrastructure-b200, chapter Architecture.
TEST(Fabric, RailOptimisedIsSizedLikeASuperPod) {
  struct Row {
    std::uint32_t nodes, leaves, spines, cores;
  };
  const FabricSpec s = test_fabric(FabricKind::kRailOptimised, 64);
  for (const Row row : {Row{64, 16, 8, 0}, Row{128, 32, 16, 0}, Row{256, 64, 32, 0}, Row{512, 128, 128, 64},
                        Row{1024, 256, 256, 128}, Row{2048, 512, 512, 256}}) {
    const FabricPlan p = plan_fabric(s, row.nodes, 8).value();
    EXPECT_EQ(p.leaves(), row.leaves) << row.nodes;
    EXPECT_EQ(p.spines(), row.spines) << row.nodes;
    EXPECT_EQ(p.cores(), row.cores) << row.nodes;
    EXPECT_EQ(p.oversubscription, 1);
  }
}

TEST(Fabric, TwoTiersEndAtHalfTheSquareOfThePortsAndThreeAtAQuarterOfTheCube) {
  const FabricSpec s = test_fabric(FabricKind::kLeafSpine, 8);
  EXPECT_EQ(plan_fabric(s, 32, 1).value().cores(), 0u);  // 8 * 8 / 2
  EXPECT_GT(plan_fabric(s, 33, 1).value().cores(), 0u);
  EXPECT_TRUE(plan_fabric(s, 128, 1).ok());  // 8 * 8 * 8 / 4
  const auto r = plan_fabric(s, 129, 1);
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.error().message, testing::HasSubstr("33 leaves a switch (8 ports) with 4 ports down and 4 up each"));
}

TEST(Fabric, RefusesOversizedFabricsWithFigures) {
  EXPECT_THAT(plan_fabric(test_fabric(FabricKind::kSingleSwitch, 64), 9, 8).error().message,
              testing::HasSubstr("72 NICs do not fit a switch (64 ports)"));
  EXPECT_TRUE(plan_fabric(test_fabric(FabricKind::kSingleSwitch, 0), 8192, 8).ok());
  EXPECT_THAT(plan_fabric(test_fabric(FabricKind::kLeafSpine, 8), 4, 5).error().message,
              testing::HasSubstr("a node has 5 NICs and a leaf 4 ports for them"));
  EXPECT_THAT(plan_fabric(test_fabric(FabricKind::kLeafSpine, 8), 4, 0).error().message,
              testing::HasSubstr("has no NIC"));
  FabricSpec s = test_fabric(FabricKind::kLeafSpine, 8);
  s.leaf_down = 9;
  EXPECT_FALSE(plan_fabric(s, 4, 2).ok());
  s.leaf_down = 8;  // no ports left for uplinks
  EXPECT_FALSE(plan_fabric(s, 8, 2).ok());
}

TEST(Fabric, ParallelCablesAreLinksOfTheirOwn) {
  FabricSpec s = test_fabric(FabricKind::kLeafSpine, 8);
  s.levels[0].parallel = 2;
  const Built b = build(s, 8, 1).value();
  EXPECT_EQ(b.plan.leaves(), 2u);
  EXPECT_EQ(b.plan.spines(), 2u);
  const DeviceId leaf = b.topology.find("leaf1").value(), spine = b.topology.find("spine0").value();
  std::size_t between = 0;
  for (const LinkId l : b.topology.out_links(leaf)) between += b.topology.to(l) == spine;
  EXPECT_EQ(between, 2u);
}

TEST(Fabric, OneLeafNeedsNoSpine) {
  const FabricPlan p = plan_fabric(test_fabric(FabricKind::kLeafSpine, 64), 4, 8).value();
  EXPECT_EQ(p.leaves(), 1u);
  EXPECT_EQ(p.spines(), 0u);
}

RC_GTEST_PROP(Fabric, EveryBuiltFabricKeepsItsRules, ()) {
  const auto kind = *rc::gen::element(FabricKind::kSingleSwitch, FabricKind::kLeafSpine, FabricKind::kRailOptimised);
  const auto ports = *rc::gen::element(4u, 6u, 8u, 16u, 40u, 64u);
  FabricSpec s = test_fabric(kind, ports, *rc::gen::element(1.0, 1.5, 2.0, 3.0));
  s.nic_order = *rc::gen::element(NicOrder::kByNode, NicOrder::kDealt);
  const auto nodes = *rc::gen::inRange(1u, 80u), nics = *rc::gen::inRange(1u, 9u);
  const auto r = build(s, nodes, nics);
  if (!r.ok()) {
    RC_ASSERT(r.error().message.find("cannot be built") != std::string::npos);
    return;
  }
  const Topology& t = r->topology;
  const FabricPlan& p = r->plan;
  RC_ASSERT(t.fabric_switches().size() == p.leaves() + p.spines() + p.cores());
  for (const DeviceId d : t.fabric_switches()) {
    RC_ASSERT(t.out_links(d).size() <= ports);
    RC_ASSERT(!t.out_links(d).empty());
    if (t.kind(d) == DeviceKind::kLeaf && p.leaves() > 1) {
      const std::size_t down = cables(t, d, DeviceKind::kNic), up = cables(t, d, DeviceKind::kSpine);
      RC_ASSERT(static_cast<double>(down) <= s.levels[0].oversubscription * static_cast<double>(up) + 1e-9);
    }
    if (t.kind(d) == DeviceKind::kSpine && p.cores() > 0) {
      RC_ASSERT(cables(t, d, DeviceKind::kCore) >= cables(t, d, DeviceKind::kLeaf));
    }
  }
  std::map<DeviceId, std::set<std::uint32_t>> rails;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    std::set<DeviceId> leaves;
    for (std::uint32_t i = 0; i < nics; ++i) {
      const DeviceId leaf = leaf_of(t, r->nics.row(n)[i]);
      RC_ASSERT(leaf != kNone<DeviceId>);
      leaves.insert(leaf);
      rails[leaf].insert(i);
    }
    if (kind == FabricKind::kRailOptimised && p.leaves() > 1) RC_ASSERT(leaves.size() == nics);
    if (kind == FabricKind::kLeafSpine && s.nic_order == NicOrder::kByNode) RC_ASSERT(leaves.size() == 1u);
  }
  if (kind == FabricKind::kRailOptimised && p.leaves() > 1) {
    for (const auto& [leaf, of] : rails) RC_ASSERT(of.size() == 1u);
  }
  if (kind == FabricKind::kSingleSwitch) RC_ASSERT(p.leaves() == 1u);
  // A GPU is connected only to its NIC, so this checks that every NIC reaches every other.
  RC_ASSERT(check_connected(t).ok());
}

}  // namespace
}  // namespace busbar::topology
