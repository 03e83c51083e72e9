#include "busbar/routing/pair_copy.h"

#include <gtest/gtest.h>

#include "busbar/topology/test_parts.h"

namespace busbar {
namespace {

/// Two GPUs with NVLink on request, each in a PCIe slot of its own CPU; 20 GB/s between the CPUs; memory at the first.
Topology two_sockets(bool nvlink, std::uint64_t sockets) {
  NodeTemplate n;
  for (const auto& [kind, name] : {std::pair(DeviceKind::kGpu, "gpu0"),
                                   {DeviceKind::kGpu, "gpu1"},
                                   {DeviceKind::kCpu, "cpu0"},
                                   {DeviceKind::kCpu, "cpu1"},
                                   {DeviceKind::kNuma, "numa0"}})
    n.devices.push_back(test_device(kind, name));
  n.links.push_back({0, 2, test_link(LinkKind::kPcie, 30)});
  n.links.push_back({1, 3, test_link(LinkKind::kPcie, 30)});
  n.links.push_back({2, 3, test_link(LinkKind::kSocket, sockets)});
  n.links.push_back({4, 2, test_link(LinkKind::kHost, 200)});
  if (nvlink) n.links.push_back({0, 1, test_link(LinkKind::kNvlink, 50)});
  TopologyBuilder b;
  b.add_block(b.add_template(n));
  return std::move(b).seal();
}

PairCopy copy_of(const Topology& t, bool p2p) {
  const Router router(t, {}, 0);
  const DirectReach reach{.gpudirect = true, .p2p = p2p, .relays = false};
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
}  // namespace busbar
