#include "busbar/routing/fabric_bundles.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "busbar/routing/router.h"
#include "busbar/topology/test_parts.h"

namespace busbar {
namespace {

std::map<LinkId, double> shares(const Router& r, const std::vector<CapacityShare>& path) {
  std::map<LinkId, double> out;
  for (const CapacityShare& s : path) {
    if (s.on.is_link()) {
      out[s.on.link()] += s.share;
      continue;
    }
    const std::uint32_t b = s.on.number(), width = r.bundles()->width(b);
    for (std::uint32_t i = 0; i < width; ++i) out[r.bundles()->link(b, i)] += s.share / width;
  }
  return out;
}

RC_GTEST_PROP(FabricBundles, CarryWhatEqualSplittingPutsOnTheirCables, ()) {
  const auto kind = *rc::gen::element(FabricKind::kLeafSpine, FabricKind::kRailOptimised, FabricKind::kFatTree);
  const auto s = test_fabric(kind, *rc::gen::element(4u, 6u, 8u), *rc::gen::element(1.0, 2.0));
  const auto made = test_cluster(s, test_nics(*rc::gen::inRange(1u, 4u), true), *rc::gen::inRange(2u, 14u));
  RC_PRE(made.ok());
  TopologyBuilder b = made->builder;
  std::vector<LinkId> cables;
  for (std::uint32_t l = 0; l < b.peek().link_count(); l += 2)
    if (is_fabric(b.peek().link_class(LinkId{l}).kind)) cables.push_back(LinkId{l});
  for (auto slow = *rc::gen::inRange(0, 3); slow > 0; --slow) b.degrade(*rc::gen::elementOf(cables), 0.5);
  const Topology t = std::move(b).seal();
  const Router r(t, RoutingPolicy::kSpray);
  RC_PRE(r.bundles() != nullptr);
  std::vector<LinkShare> whole;
  std::vector<CapacityShare> bundled;
  for (const DeviceId x : t.gpus())
    for (const DeviceId y : t.gpus()) {
      if (t.block_of(x) == t.block_of(y)) continue;
      const DeviceId nic_x = r.nearest_nic(x, 0), nic_y = r.nearest_nic(y, 0);
      whole.clear();
      bundled.clear();
      RC_ASSERT(r.spread(x, y, nic_x, nic_y, 0, whole).ok() == r.spread_bundled(x, y, nic_x, nic_y, bundled).ok());
      std::map<LinkId, double> a;
      for (const LinkShare& s : whole) a[s.link] += s.share;
      const auto c = shares(r, bundled);
      RC_ASSERT(a.size() == c.size());
      for (const auto& [link, share] : a) {
        RC_ASSERT(c.count(link) == 1u);
        RC_ASSERT(std::abs(c.at(link) - share) < 1e-9);
      }
    }
}

TopologyBuilder fat_tree() {
  return std::move(test_cluster(test_fabric(FabricKind::kFatTree, 4), test_nics(1, true), 16)->builder);
}

LinkId cable(const Topology& t, DeviceKind from, DeviceKind to) {
  for (std::uint32_t l = 0; l < t.link_count(); ++l)
    if (t.kind(t.from(LinkId{l})) == from && t.kind(t.to(LinkId{l})) == to) return LinkId{l};
  return kNone<LinkId>;
}

TEST(FabricBundles, AreFewWhereCablesAreMany) {
  const Topology t = fat_tree().seal();
  const FabricBundles bundles(t);
  ASSERT_TRUE(bundles.valid());
  EXPECT_EQ(bundles.count(), 2u * (8 + 4));  // leaves and pods, up and down
  std::vector<std::uint32_t> way;
  const DeviceId near = *t.find("leaf0"), far = *t.find("leaf7");
  EXPECT_TRUE(bundles.between(near, far, way));
  EXPECT_EQ(way.size(), 4u);
  for (const std::uint32_t b : way) EXPECT_EQ(bundles.of(bundles.first(b)), b);
  way.clear();
  EXPECT_TRUE(bundles.between(near, near, way));
  EXPECT_TRUE(way.empty());
}

TEST(FabricBundles, AreNotCrossedInsideAServer) {
  const auto made = test_cluster(test_fabric(FabricKind::kFatTree, 4), test_nics(2, true), 8);
  const Topology t = TopologyBuilder(made->builder).seal();
  const Router r(t, RoutingPolicy::kSpray);
  ASSERT_NE(r.bundles(), nullptr);
  const DeviceId a = t.gpus()[0], near = r.nearest_nic(a, 0), far = t.gpus().back();
  std::vector<CapacityShare> crossing, inside;
  ASSERT_TRUE(r.spread_bundled(a, far, near, r.nearest_nic(far, 0), crossing).ok());
  ASSERT_TRUE(r.spread_bundled(a, near, kNone<DeviceId>, kNone<DeviceId>, inside).ok());
  const auto bundled = [](const CapacityShare& s) { return s.on.is_bundle(); };
  EXPECT_TRUE(std::any_of(crossing.begin(), crossing.end(), bundled));
  EXPECT_FALSE(std::any_of(inside.begin(), inside.end(), bundled));
}

TEST(FabricBundles, EndWithOneMissingCableBetweenSwitches) {
  for (const DeviceKind up : {DeviceKind::kSpine, DeviceKind::kCore}) {
    const DeviceKind low = up == DeviceKind::kSpine ? DeviceKind::kLeaf : DeviceKind::kSpine;
    TopologyBuilder slow = fat_tree(), gone = fat_tree();
    slow.degrade(cable(slow.peek(), low, up), 0.5);
    gone.fail(cable(gone.peek(), low, up));
    const Topology slower = std::move(slow).seal();
    const FabricBundles bundles(slower);
    EXPECT_TRUE(bundles.valid());
    EXPECT_FALSE(bundles.alike());
    EXPECT_NE(Router(slower, RoutingPolicy::kSpray).bundles(), nullptr);
    EXPECT_EQ(Router(slower, RoutingPolicy::kAdaptive).bundles(), nullptr);
    EXPECT_FALSE(FabricBundles(std::move(gone).seal()).valid());
  }
  TopologyBuilder nic = fat_tree();
  nic.fail(cable(nic.peek(), DeviceKind::kNic, DeviceKind::kLeaf));
  EXPECT_TRUE(FabricBundles(std::move(nic).seal()).valid());
}

TEST(FabricBundles, AreOnlyForTrafficThatIsSplitEvenly) {
  const Topology t = fat_tree().seal();
  EXPECT_EQ(Router(t, RoutingPolicy::kStatic).bundles(), nullptr);
  EXPECT_NE(Router(t, RoutingPolicy::kAdaptive).bundles(), nullptr);
  const Topology ring =
      std::move(test_cluster(test_fabric(FabricKind::kDragonfly, 8), test_nics(1, true), 12)->builder).seal();
  EXPECT_EQ(Router(ring, RoutingPolicy::kSpray).bundles(), nullptr);
}

}  // namespace
}  // namespace busbar
