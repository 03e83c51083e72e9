// Copies between GPUs through host memory, on machines without P2P.
#include <gtest/gtest.h>

#include "busbar/lowering/test_lowered.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::lowering {
namespace {

constexpr double kSlotGBps = 32;
constexpr std::uint64_t kBytes = 32'000'000'000;  ///< a second in one slot

/// Two cards on one CPU. `uplink`: below a PCIe switch that has one slot of the CPU.
topology::Topology two_cards(bool uplink, double memory_GBps) {
  topology::NodeTemplate node;
  for (const char* name : {"gpu0", "gpu1"})
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, name));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kCpu, "cpu0"));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kNuma, "numa0"));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kPcieSwitch, "pcie0"));
  const topology::LinkClass slot = topology::test_link(topology::LinkKind::kPcie, kSlotGBps, Duration());
  for (const std::uint32_t gpu : {0u, 1u}) node.links.push_back({gpu, uplink ? 4u : 2u, slot});
  node.links.push_back({4, 2, slot});
  node.links.push_back({3, 2, topology::test_link(topology::LinkKind::kHost, memory_GBps, Duration())});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  return std::move(b).seal();
}

program::ProtocolModel without_p2p(double both_ways) {
  program::ProtocolModel p;
  p.peer_access = false;
  p.staged_both_ways = both_ways;
  return p;
}

double seconds(const topology::Topology& t, collectives::Collective op, const program::ProtocolModel& protocol) {
  program::CollectiveCall c = test_call(2, "auto", kBytes, 1);
  c.op = op;
  c.algorithm = op == collectives::Collective::kAllGather ? "ring" : "direct";
  return 1e-3 * lowered_ms(TestNetwork(t), c, protocol);
}

constexpr auto kBoth = collectives::Collective::kAllGather;  ///< half of the bytes in each direction

TEST(Staged, AGpuWritesAndReadsHostMemoryMoreSlowlyAtTheSameTime) {
  const topology::Topology t = two_cards(false, 1000);
  EXPECT_NEAR(seconds(t, kBoth, {}), 0.5, 1e-9);
  EXPECT_NEAR(seconds(t, kBoth, without_p2p(1)), 0.5, 1e-9);
  EXPECT_NEAR(seconds(t, kBoth, without_p2p(0.65)), 0.5 / 0.65, 1e-9);
}

TEST(Staged, OneDirectionAloneHasTheWholeRate) {
  const topology::Topology t = two_cards(false, 1000);
  EXPECT_NEAR(seconds(t, collectives::Collective::kGather, without_p2p(0.65)), 0.5, 1e-9);
}

// Direct copies do not leave the switch; staged ones cross its slot twice.
TEST(Staged, CardsBelowASwitchShareItsSlot) {
  const topology::Topology t = two_cards(true, 1000);
  EXPECT_NEAR(seconds(t, kBoth, {}), 0.5, 1e-9);
  EXPECT_NEAR(seconds(t, kBoth, without_p2p(1)), 1, 1e-9);
  EXPECT_NEAR(seconds(t, kBoth, without_p2p(0.65)), 1, 1e-9);
  EXPECT_NEAR(seconds(t, collectives::Collective::kGather, without_p2p(0.65)), 0.5, 1e-9);
}

TEST(Staged, EveryByteIsWrittenToHostMemoryAndReadFromIt) {
  EXPECT_NEAR(seconds(two_cards(false, 16), kBoth, without_p2p(1)), 4.0, 1e-9);
}

/// One GPU, one NIC and the memory of one CPU in each of two servers.
topology::Topology two_servers(double memory_GBps) {
  topology::NodeTemplate node;
  node.devices = {topology::test_device(topology::DeviceKind::kGpu, "gpu0"),
                  topology::test_device(topology::DeviceKind::kCpu, "cpu0"),
                  topology::test_device(topology::DeviceKind::kNuma, "numa0"),
                  topology::test_device(topology::DeviceKind::kNic, "nic0")};
  node.links = {{0, 1, topology::test_link(topology::LinkKind::kPcie, kSlotGBps, Duration())},
                {1, 3, topology::test_link(topology::LinkKind::kPcie, kSlotGBps, Duration())},
                {2, 1, topology::test_link(topology::LinkKind::kHost, memory_GBps, Duration())}};
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  const topology::DeviceId hub = b.add_switch(leaf, "leaf0");
  for (std::uint32_t i = 0; i < 2; ++i) b.add_block(t);
  const topology::LinkClass cable = topology::test_link(topology::LinkKind::kInfiniband, kSlotGBps, Duration());
  for (const std::uint32_t i : {0u, 1u}) b.connect(b.device(static_cast<topology::BlockId>(i), 3), hub, cable);
  return std::move(b).seal();
}

// One after another and all pairs at once: two ways through the lowering.
TEST(Staged, EveryByteForANicIsWrittenToHostMemoryAndReadFromItToo) {
  program::ProtocolModel p;
  p.gpudirect = false;
  EXPECT_NEAR(seconds(two_servers(1000), kBoth, p), 0.5, 1e-9);
  EXPECT_NEAR(seconds(two_servers(16), kBoth, p), 4.0, 1e-9);
  EXPECT_NEAR(seconds(two_servers(16), collectives::Collective::kAllToAll, p), 4.0, 1e-9);
}

}  // namespace
}  // namespace busbar::lowering
