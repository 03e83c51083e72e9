// The fast cut of large fabrics against the maximum flow.
#include "busbar/topology/bisection.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "busbar/topology/test_parts.h"

namespace busbar::topology {
namespace {

Topology fabric_of(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics) {
  auto cluster = test_cluster(spec, test_nics(nics, true), nodes);
  RC_ASSERT(cluster.ok());
  return std::move(cluster->builder).seal();
}

FabricSpec any_tree(std::uint32_t nics) {
  FabricSpec s =
      test_fabric(*rc::gen::element(FabricKind::kLeafSpine, FabricKind::kRailOptimised, FabricKind::kFatTree),
                  *rc::gen::element(8u, 16u), *rc::gen::element(1.0, 3.0));
  s.nic_order = nics > 4 ? NicOrder::kDealt : NicOrder::kByNode;
  return s;
}

RC_GTEST_PROP(BisectionByTiers, IsNeverBelowTheMaximumFlow, ()) {
  const auto nics = *rc::gen::element(1u, 2u, 4u);
  const Topology t = fabric_of(any_tree(nics), *rc::gen::inRange(2u, 24u), nics);
  RC_ASSERT(bisect_tiers(t).GBps >= bisect(t).GBps * (1 - 1e-9));
}

/// Rings of `extent` GPUs along three dimensions.
Topology torus_of(const std::array<std::uint32_t, 3>& extent) {
  NodeTemplate node;
  for (std::uint32_t i = 0; i < extent[0] * extent[1] * extent[2]; ++i)
    node.devices.push_back(test_device(DeviceKind::kGpu, "gpu" + std::to_string(i)));
  std::uint32_t stride = 1;
  for (const std::uint32_t n : extent) {
    for (std::uint32_t i = 0; i < node.devices.size(); ++i) {
      const std::uint32_t at = i / stride % n, next = i - at * stride + (at + 1) % n * stride;
      if (n > 1) node.links.push_back({i, next, test_link(LinkKind::kIci, 50)});
    }
    stride *= n;
  }
  TopologyBuilder b;
  b.add_block(b.add_template(std::move(node)));
  return std::move(b).seal();
}

TEST(Bisection, OfATorusCrossesItsLongestDimensionWhereverThatIs) {
  // A ring of 8 is cut twice, each time over the 16 links of a plane of 4 x 4.
  for (const auto& extent : {std::array{4u, 4u, 8u}, {4u, 8u, 4u}, {8u, 4u, 4u}})
    EXPECT_EQ(bisect(torus_of(extent)).GBps, 2 * 16 * 50);
  EXPECT_EQ(bisect(torus_of({3, 12, 1})).GBps, 2 * 3 * 50);
}

// If the halves part between leaves, no switch must choose a side, and the fast cut is the narrowest.
RC_GTEST_PROP(BisectionByTiers, IsTheMaximumFlowWhereLeavesAreFull, ()) {
  FabricSpec s = any_tree(1);
  s.kind = FabricKind::kLeafSpine;
  const double over = s.levels[0].oversubscription = *rc::gen::element(1.0, 3.0);
  const auto down = static_cast<std::uint32_t>(s.levels[0].switches.ports * over / (1 + over));
  const Topology t = fabric_of(s, 2 * down * *rc::gen::inRange(1u, 4u), 1);
  RC_ASSERT(std::abs(bisect_tiers(t).GBps - bisect(t).GBps) <= bisect(t).GBps * 1e-9);
}

}  // namespace
}  // namespace busbar::topology
