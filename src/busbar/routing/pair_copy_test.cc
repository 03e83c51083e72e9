#include "busbar/routing/pair_copy.h"

#include <gtest/gtest.h>

#include "busbar/topology/test_parts.h"

namespace busbar::routing {
namespace {

/// Two GPUs with NVLink on request, each in a PCIe slot of its own CPU; 20 GB/s between the CPUs; memory at the first.
topology::Topology two_sockets(bool nvlink, std::uint64_t sockets) {
  topology::NodeTemplate n;
  for (const auto& [kind, name] : {std::pair(topology::DeviceKind::kGpu, "gpu0"),
                                   {topology::DeviceKind::kGpu, "gpu1"},
                                   {topology::DeviceKind::kCpu, "cpu0"},
                                   {topology::DeviceKind::kCpu, "cpu1"},
                                   {topology::DeviceKind::kNuma, "numa0"}})
    n.devices.push_back(topology::test_device(kind, name));
  n.links.push_back({0, 2, topology::test_link(topology::LinkKind::kPcie, 30)});
  n.links.push_back({1, 3, topology::test_link(topology::LinkKind::kPcie, 30)});
  n.links.push_back({2, 3, topology::test_link(topology::LinkKind::kSocket, sockets)});
  n.links.push_back({4, 2, topology::test_link(topology::LinkKind::kHost, 200)});
  if (nvlink) n.links.push_back({0, 1, topology::test_link(topology::LinkKind::kNvlink, 50)});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(n));
  return std::move(b).seal();
}

PairCopy copy_of(const topology::Topology& t, bool p2p) {
  const Router router(t, {}, 0);
  const topology::DirectReach reach{.gpudirect = true, .p2p = p2p, .relays = false};
  return pair_copy(t, view_route(router, t.gpus()[0], t.gpus()[1], reach).value(),
                   view_route(router, t.gpus()[1], t.gpus()[0], reach).value());
}

TEST(PairCopy, DirectPathsCarryBothDirectionsAtFullRate) {
  const PairCopy copy = copy_of(two_sockets(true, 20), true);
  EXPECT_DOUBLE_EQ(copy.one_way_GBps, 50);
  EXPECT_DOUBLE_EQ(copy.both_ways_GBps, 100);
}

TEST(PairCopy, ThroughHostMemoryBothDirectionsMoveNoMoreThanOne) {
  const PairCopy copy = copy_of(two_sockets(false, 100), false);
  EXPECT_DOUBLE_EQ(copy.one_way_GBps, 30 * kStagedShare);
  EXPECT_DOUBLE_EQ(copy.both_ways_GBps, copy.one_way_GBps);
}

TEST(PairCopy, RatesBetweenSocketsAreMeasuredOnes) {
  EXPECT_DOUBLE_EQ(copy_of(two_sockets(false, 10), false).one_way_GBps, 10);
}

}  // namespace
}  // namespace busbar::routing
