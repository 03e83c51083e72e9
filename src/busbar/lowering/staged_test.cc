// Copies between GPUs through host memory, on machines without P2P.
#include <gtest/gtest.h>

#include "busbar/lowering/test_lowered.h"
#include "busbar/lowering/test_machines.h"

namespace busbar {
namespace {

constexpr double kSlotGBps = 32;
constexpr std::uint64_t kBytes = 32'000'000'000;  ///< a second in one slot

/// Two cards on one CPU. `uplink`: below a PCIe switch that has one slot of the CPU.
Topology two_cards(bool uplink, double memory_GBps) {
  NodeTemplate node;
  for (const char* name : {"gpu0", "gpu1"}) node.devices.push_back(test_device(DeviceKind::kGpu, name));
  node.devices.push_back(test_device(DeviceKind::kCpu, "cpu0"));
  node.devices.push_back(test_device(DeviceKind::kNuma, "numa0"));
  node.devices.push_back(test_device(DeviceKind::kPcieSwitch, "pcie0"));
  const LinkClass slot = test_link(LinkKind::kPcie, kSlotGBps, Duration());
  for (const std::uint32_t gpu : {0u, 1u}) node.links.push_back({gpu, uplink ? 4u : 2u, slot});
  node.links.push_back({4, 2, slot});
  node.links.push_back({3, 2, test_link(LinkKind::kHost, memory_GBps, Duration())});
  TopologyBuilder b;
  b.add_block(b.add_template(node));
  return std::move(b).seal();
}

ProtocolModel without_p2p(double both_ways) {
  ProtocolModel p;
  p.peer_access = false;
  p.staged_both_ways = both_ways;
  return p;
}

double seconds(const Topology& t, Collective op, const ProtocolModel& protocol) {
  CollectiveCall c = test_call(2, "auto", kBytes, 1);
  c.op = op;
  c.algorithm = op == Collective::kAllGather ? "ring" : "direct";
  return 1e-3 * lowered_ms(Ground(t), c, protocol);
}

constexpr auto kBoth = Collective::kAllGather;  ///< half of the bytes in each direction

TEST(Staged, AGpuWritesAndReadsHostMemoryMoreSlowlyAtTheSameTime) {
  const Topology t = two_cards(false, 1000);
  EXPECT_NEAR(seconds(t, kBoth, {}), 0.5, 1e-9);
  EXPECT_NEAR(seconds(t, kBoth, without_p2p(1)), 0.5, 1e-9);
  EXPECT_NEAR(seconds(t, kBoth, without_p2p(0.65)), 0.5 / 0.65, 1e-9);
}

TEST(Staged, OneDirectionAloneHasTheWholeRate) {
  const Topology t = two_cards(false, 1000);
  EXPECT_NEAR(seconds(t, Collective::kGather, without_p2p(0.65)), 0.5, 1e-9);
}

// Direct copies do not leave the switch; staged ones cross its slot twice.
TEST(Staged, CardsBelowASwitchShareItsSlot) {
  const Topology t = two_cards(true, 1000);
  EXPECT_NEAR(seconds(t, kBoth, {}), 0.5, 1e-9);
  EXPECT_NEAR(seconds(t, kBoth, without_p2p(1)), 1, 1e-9);
  EXPECT_NEAR(seconds(t, kBoth, without_p2p(0.65)), 1, 1e-9);
  EXPECT_NEAR(seconds(t, Collective::kGather, without_p2p(0.65)), 0.5, 1e-9);
}

TEST(Staged, EveryByteIsWrittenToHostMemoryAndReadFromIt) {
  EXPECT_NEAR(seconds(two_cards(false, 16), kBoth, without_p2p(1)), 4.0, 1e-9);
}

/// One GPU, one NIC and the memory of one CPU in each of two servers.
Topology two_servers(double memory_GBps) {
  NodeTemplate node;
  node.devices = {test_device(DeviceKind::kGpu, "gpu0"), test_device(DeviceKind::kCpu, "cpu0"),
                  test_device(DeviceKind::kNuma, "numa0"), test_device(DeviceKind::kNic, "nic0")};
  node.links = {{0, 1, test_link(LinkKind::kPcie, kSlotGBps, Duration())},
                {1, 3, test_link(LinkKind::kPcie, kSlotGBps, Duration())},
                {2, 1, test_link(LinkKind::kHost, memory_GBps, Duration())}};
  TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  DeviceClass leaf;
  leaf.kind = DeviceKind::kLeaf;
  const DeviceId hub = b.add_switch(leaf, "leaf0");
  for (std::uint32_t i = 0; i < 2; ++i) b.add_block(t);
  const LinkClass cable = test_link(LinkKind::kInfiniband, kSlotGBps, Duration());
  for (const std::uint32_t i : {0u, 1u}) b.connect(b.device(static_cast<BlockId>(i), 3), hub, cable);
  return std::move(b).seal();
}

// One after another and all pairs at once: two ways through the lowering.
TEST(Staged, EveryByteForANicIsWrittenToHostMemoryAndReadFromItToo) {
  ProtocolModel p;
  p.gpudirect = false;
  EXPECT_NEAR(seconds(two_servers(1000), kBoth, p), 0.5, 1e-9);
  EXPECT_NEAR(seconds(two_servers(16), kBoth, p), 4.0, 1e-9);
  EXPECT_NEAR(seconds(two_servers(16), Collective::kAllToAll, p), 4.0, 1e-9);
}

}  // namespace
}  // namespace busbar
