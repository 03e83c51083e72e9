#include "busbar/routing/fabric_bundles.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "busbar/routing/router.h"
#include "busbar/topology/test_parts.h"

namespace busbar::routing {
namespace {

std::map<topology::LinkId, double> shares(const Router& r, const std::vector<CapacityShare>& path) {
  std::map<topology::LinkId, double> out;
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

topology::LinkId cable(const topology::Topology& t, topology::DeviceKind from, topology::DeviceKind to) {
  for (std::uint32_t l = 0; l < t.link_count(); ++l)
    if (t.kind(t.from(topology::LinkId{l})) == from && t.kind(t.to(topology::LinkId{l})) == to)
      return topology::LinkId{l};
  return kNone<topology::LinkId>;
}

RC_GTEST_PROP(FabricBundles, CarryWhatEqualSplittingPutsOnTheirCables, ()) {
  const auto kind = *rc::gen::element(topology::FabricKind::kLeafSpine, topology::FabricKind::kRailOptimised,
                                      topology::FabricKind::kFatTree);
  auto s = topology::test_fabric(kind, *rc::gen::element(4u, 6u, 8u), *rc::gen::element(1.0, 2.0));
  s.planes = *rc::gen::element(1u, 1u, 2u, 3u);
  const auto made =
      topology::test_cluster(s, topology::test_nics(*rc::gen::inRange(1u, 4u), true), *rc::gen::inRange(2u, 14u));
  RC_PRE(made.ok());
  topology::TopologyBuilder b = made->builder;
  std::vector<topology::LinkId> cables;
  for (std::uint32_t l = 0; l < b.peek().link_count(); l += 2)
    if (topology::is_fabric(b.peek().link_class(topology::LinkId{l}).kind)) cables.push_back(topology::LinkId{l});
  for (auto slow = *rc::gen::inRange(0, 3); slow > 0; --slow) b.degrade(*rc::gen::elementOf(cables), 0.5);
  if (s.planes > 1 && *rc::gen::arbitrary<bool>())
    b.fail(cable(b.peek(), topology::DeviceKind::kNic, topology::DeviceKind::kLeaf));
  const topology::Topology t = std::move(b).seal();
  const Router r(t, topology::RoutingPolicy::kSpray);
  RC_PRE(r.bundles() != nullptr);
  RC_CLASSIFY(s.planes > 1, "planes");
  std::vector<LinkShare> whole;
  std::vector<CapacityShare> bundled;
  for (const topology::DeviceId x : t.gpus())
    for (const topology::DeviceId y : t.gpus()) {
      if (t.block_of(x) == t.block_of(y)) continue;
      const topology::DeviceId nic_x = r.nearest_nic(x, 0), nic_y = r.nearest_nic(y, 0);
      whole.clear();
      bundled.clear();
      RC_ASSERT(r.spread(x, y, nic_x, nic_y, 0, whole).ok() == r.spread_bundled(x, y, nic_x, nic_y, bundled).ok());
      std::map<topology::LinkId, double> a;
      for (const LinkShare& s : whole) a[s.link] += s.share;
      const auto c = shares(r, bundled);
      RC_ASSERT(a.size() == c.size());
      for (const auto& [link, share] : a) {
        RC_ASSERT(c.count(link) == 1u);
        RC_ASSERT(std::abs(c.at(link) - share) < 1e-9);
      }
    }
}

topology::TopologyBuilder fat_tree() {
  return std::move(
      topology::test_cluster(topology::test_fabric(topology::FabricKind::kFatTree, 4), topology::test_nics(1, true), 16)
          ->builder);
}

TEST(FabricBundles, AreFewWhereCablesAreMany) {
  const topology::Topology t = fat_tree().seal();
  const FabricBundles bundles(t);
  ASSERT_TRUE(bundles.valid());
  EXPECT_EQ(bundles.count(), 2u * (8 + 4));  // leaves and pods, up and down
  std::vector<std::uint32_t> way;
  const topology::DeviceId near = *t.find("leaf0"), far = *t.find("leaf7");
  EXPECT_TRUE(bundles.between(near, far, way));
  EXPECT_EQ(way.size(), 4u);
  for (const std::uint32_t b : way) EXPECT_EQ(bundles.of(bundles.first(b)), b);
  way.clear();
  EXPECT_TRUE(bundles.between(near, near, way));
  EXPECT_TRUE(way.empty());
}

TEST(FabricBundles, AreNotCrossedInsideAServer) {
  const auto made =
      topology::test_cluster(topology::test_fabric(topology::FabricKind::kFatTree, 4), topology::test_nics(2, true), 8);
  const topology::Topology t = topology::TopologyBuilder(made->builder).seal();
  const Router r(t, topology::RoutingPolicy::kSpray);
  ASSERT_NE(r.bundles(), nullptr);
  const topology::DeviceId a = t.gpus()[0], near = r.nearest_nic(a, 0), far = t.gpus().back();
  std::vector<CapacityShare> crossing, inside;
  ASSERT_TRUE(r.spread_bundled(a, far, near, r.nearest_nic(far, 0), crossing).ok());
  ASSERT_TRUE(r.spread_bundled(a, near, kNone<topology::DeviceId>, kNone<topology::DeviceId>, inside).ok());
  const auto bundled = [](const CapacityShare& s) { return s.on.is_bundle(); };
  EXPECT_TRUE(std::any_of(crossing.begin(), crossing.end(), bundled));
  EXPECT_FALSE(std::any_of(inside.begin(), inside.end(), bundled));
}

TEST(FabricBundles, EndWithOneMissingCableBetweenSwitches) {
  for (const topology::DeviceKind up : {topology::DeviceKind::kSpine, topology::DeviceKind::kCore}) {
    const topology::DeviceKind low =
        up == topology::DeviceKind::kSpine ? topology::DeviceKind::kLeaf : topology::DeviceKind::kSpine;
    topology::TopologyBuilder slow = fat_tree(), gone = fat_tree();
    slow.degrade(cable(slow.peek(), low, up), 0.5);
    gone.fail(cable(gone.peek(), low, up));
    const topology::Topology slower = std::move(slow).seal();
    const FabricBundles bundles(slower);
    EXPECT_TRUE(bundles.valid());
    EXPECT_FALSE(bundles.alike());
    EXPECT_NE(Router(slower, topology::RoutingPolicy::kSpray).bundles(), nullptr);
    EXPECT_EQ(Router(slower, topology::RoutingPolicy::kAdaptive).bundles(), nullptr);
    EXPECT_FALSE(FabricBundles(std::move(gone).seal()).valid());
  }
  topology::TopologyBuilder nic = fat_tree();
  nic.fail(cable(nic.peek(), topology::DeviceKind::kNic, topology::DeviceKind::kLeaf));
  EXPECT_TRUE(FabricBundles(std::move(nic).seal()).valid());
}

TEST(FabricBundles, OfPlanesThatDifferAreNotForAdaptiveTraffic) {
  topology::FabricSpec spec = topology::test_fabric(topology::FabricKind::kFatTree, 4);
  spec.planes = 2;
  const auto made = topology::test_cluster(spec, topology::test_nics(1, true), 16);
  const topology::Topology sound = topology::TopologyBuilder(made->builder).seal();
  ASSERT_NE(Router(sound, topology::RoutingPolicy::kSpray).bundles(), nullptr);
  EXPECT_NE(Router(sound, topology::RoutingPolicy::kAdaptive).bundles(), nullptr);
  topology::TopologyBuilder slow = made->builder, gone = made->builder;
  const topology::LinkId port = cable(sound, topology::DeviceKind::kNic, topology::DeviceKind::kLeaf);
  slow.degrade(port, 0.5);
  gone.fail(port);
  for (topology::TopologyBuilder* b : {&slow, &gone}) {
    const topology::Topology t = std::move(*b).seal();
    EXPECT_NE(Router(t, topology::RoutingPolicy::kSpray).bundles(), nullptr);
    EXPECT_EQ(Router(t, topology::RoutingPolicy::kAdaptive).bundles(), nullptr) << "the other plane may carry more";
  }
}

TEST(FabricBundles, AreOnlyForTrafficThatIsSplitEvenly) {
  const topology::Topology t = fat_tree().seal();
  EXPECT_EQ(Router(t, topology::RoutingPolicy::kStatic).bundles(), nullptr);
  EXPECT_NE(Router(t, topology::RoutingPolicy::kAdaptive).bundles(), nullptr);
  const topology::Topology ring =
      std::move(topology::test_cluster(topology::test_fabric(topology::FabricKind::kDragonfly, 8),
                                       topology::test_nics(1, true), 12)
                    ->builder)
          .seal();
  EXPECT_EQ(Router(ring, topology::RoutingPolicy::kSpray).bundles(), nullptr);
}

}  // namespace
}  // namespace busbar::routing
