#include "busbar/nccl/system.h"

#include <gtest/gtest.h>

#include <numeric>

#include "busbar/nccl/test_nodes.h"

namespace busbar::nccl {
namespace {

std::vector<std::uint32_t> counted(std::size_t n) {
  std::vector<std::uint32_t> out(n);
  std::iota(out.begin(), out.end(), 0u);
  return out;
}

NcclSystem system_of(const topology::Topology& t, bool inter, const NcclSettings& settings = {}) {
  std::vector<topology::DeviceId> gpus;
  for (const topology::DeviceId g : t.gpus())
    if (t.block_of(g) == static_cast<topology::BlockId>(0)) gpus.push_back(g);
  return build_nccl_system(t, gpus, counted(gpus.size()), inter, settings).value();
}

TEST(NcclVersion, IsReadFromTextAndRefusedOutsideTheKnownRange) {
  EXPECT_EQ(parse_nccl_version("2.27.7")->minor, 27);
  EXPECT_EQ(parse_nccl_version("v2.18.3-1")->minor, 18);
  EXPECT_LT((NcclVersion{2, 9}), (NcclVersion{2, 18}));
  EXPECT_EQ(parse_nccl_version("2.11").error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(parse_nccl_version("new").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(parse_nccl_version("2").error().code, ErrorCode::kInvalid);
}

/// The sum over all NVLinks of a GPU, as logs print it ("totalBw").
TEST(NcclConstants, GpusHaveTheNvlinkTotalsOfLogs) {
  const NcclVersion now;
  EXPECT_FLOAT_EQ(6 * nvlink_GBps(70, now), 120);
  EXPECT_FLOAT_EQ(12 * nvlink_GBps(80, now), 240);
  EXPECT_NEAR(18 * nvlink_GBps(90, now), 370.8, 1e-3);
  EXPECT_FLOAT_EQ(18 * nvlink_GBps(90, {2, 18}), 360);
  EXPECT_NEAR(18 * nvlink_GBps(100, now), 721.8, 1e-3);
  EXPECT_FLOAT_EQ(18 * nvlink_GBps(100, {2, 26}), 720);
}

TEST(NcclConstants, PcieIsCountedAfterEncodingAndSpeedsMayBeGivenSo) {
  EXPECT_FLOAT_EQ(pcie_GBps(32, 16), 48);
  EXPECT_FLOAT_EQ(pcie_GBps(16, 16), 24);
  EXPECT_FLOAT_EQ(pcie_GBps(8, 16), 12);
  EXPECT_FLOAT_EQ(pcie_GBps(8, 8), 6);
  EXPECT_FLOAT_EQ(pcie_GBps(2.5, 4), .75);
  EXPECT_FLOAT_EQ(pcie_GBps(31.5, 16), 48);
  EXPECT_FLOAT_EQ(pcie_GBps(16, 0), 24);
}

TEST(NcclConstants, ProcessorsAreToldApartSince226) {
  const CpuType sapphire{CpuArch::kX86, CpuVendor::kIntel, 6, 143}, rome{CpuArch::kX86, CpuVendor::kAmd, 23, 49};
  EXPECT_EQ(inter_cpu_GBps(sapphire, {2, 26}), 22);
  EXPECT_EQ(inter_cpu_GBps(sapphire, {2, 25}), 10);
  EXPECT_EQ(inter_cpu_GBps({CpuArch::kX86, CpuVendor::kIntel, 6, 79}, {2, 30}), 6);
  EXPECT_EQ(inter_cpu_GBps({CpuArch::kX86, CpuVendor::kIntel, 6, 207}, {2, 30}), 40);
  EXPECT_EQ(inter_cpu_GBps(rome, {2, 30}), 16);
  EXPECT_EQ(inter_cpu_GBps({CpuArch::kArm, CpuVendor::kUnknown, 0, 0}, {2, 30}), 6);
}

TEST(NcclSystem, GivesANodeOf8H100TheFiguresOfItsLogs) {
  const NcclSystem s = system_of(nccl_machine(TestNode{}, 2), true);
  EXPECT_EQ(s.gpu_count(), 8u);
  EXPECT_EQ(s.net_count(), 8u);
  EXPECT_FLOAT_EQ(s.max_GBps, 48) << "maxBw 48.0 totalBw 370.8 in public logs";
  EXPECT_NEAR(s.total_GBps, 370.8, 1e-3);
  EXPECT_EQ(s.least_capability, 90);
}

TEST(NcclPaths, GpusMeetOverTheSwitchAndReachTheirOwnNicOverOnePcieSwitch) {
  const NcclSystem s = system_of(nccl_machine(TestNode{}, 2), true);
  for (std::uint32_t g = 0; g < 8; ++g) {
    EXPECT_EQ(s.gpu_gpu.at(g, g).type, topology::PathType::kLoc);
    EXPECT_EQ(s.gpu_gpu.at(g, (g + 1) % 8).type, topology::PathType::kNvl);
    EXPECT_EQ(s.gpu_gpu.at(g, (g + 1) % 8).links.size(), 2u);
    EXPECT_EQ(s.gpu_net.at(g, g).type, topology::PathType::kPix);
    EXPECT_EQ(s.local_gpu[g], static_cast<int>(g));
    EXPECT_EQ(local_net(s, g, 0), g);
    EXPECT_EQ(local_net(s, g, 5), g) << "one NIC of its own: every channel takes it";
  }
}

TEST(NcclPaths, OtherNicsAreReachedThroughTheGpuNextToThemButOnlyToSend) {
  const NcclSystem s = system_of(nccl_machine(TestNode{}, 2), true);
  EXPECT_EQ(s.gpu_net.at(0, 1).type, topology::PathType::kPxn);
  EXPECT_FLOAT_EQ(s.gpu_net.at(0, 1).GBps, 48);
  EXPECT_EQ(s.net_gpu.at(1, 0).type, topology::PathType::kPhb);
  EXPECT_EQ(s.net_gpu.at(7, 0).type, topology::PathType::kSys);
  NcclSettings off;
  off.pxn = false;
  EXPECT_EQ(system_of(nccl_machine(TestNode{}, 2), true, off).gpu_net.at(0, 1).type, topology::PathType::kPhb);
}

/// Two servers whose GPUs share one switch; nothing else joins them.
topology::NodeTemplate rack_of_two(const TestNode& server) {
  topology::NodeTemplate rack = nccl_node(server);
  const topology::NodeTemplate second = rack;
  const auto first_count = static_cast<std::uint32_t>(rack.devices.size());
  std::vector<std::uint32_t> place(first_count);
  for (std::uint32_t d = 0; d < first_count; ++d) {
    topology::TemplateDevice more = second.devices[d];
    place[d] =
        more.device_class.kind == topology::DeviceKind::kNvSwitch ? d : static_cast<std::uint32_t>(rack.devices.size());
    if (place[d] == d) continue;
    more.name += "b";
    if (more.numa >= 0) more.numa = static_cast<std::int16_t>(more.numa + 2);
    rack.devices.push_back(more);
  }
  for (const topology::TemplateLink& l : second.links) rack.links.push_back({place[l.a], place[l.b], l.link_class});
  return rack;
}

TEST(NcclPaths, AServerOfARackReachesItsOwnNicsAndThoseOfOthersOnlyThroughTheirGpus) {
  TestNode server;
  server.gpus = 4;
  const topology::Topology t = nccl_machine(rack_of_two(server), 2, 400);
  const NcclSystem all = system_of(t, true);
  ASSERT_EQ(all.gpu_count(), 8u);
  EXPECT_EQ(all.net_count(), 8u);
  EXPECT_EQ(all.gpu_net.at(0, 3).type, topology::PathType::kPxn);
  EXPECT_EQ(all.net_gpu.at(3, 0).type, topology::PathType::kSys) << "the other socket";
  EXPECT_EQ(all.gpu_net.at(0, 4).type, topology::PathType::kPxn);
  EXPECT_EQ(all.net_gpu.at(4, 0).type, topology::PathType::kDis) << "no socket link joins two servers";
  const std::vector<topology::DeviceId> one{t.gpus()[5]};
  const NcclSystem alone = build_nccl_system(t, one, counted(1), true, {}).value();
  EXPECT_EQ(alone.net_count(), 4u) << "a server without a GPU in use is not part of the communicator";
  EXPECT_EQ(alone.cpus.size(), 2u);
  EXPECT_EQ(t.name(alone.nodes[alone.nets[local_net(alone, 0, 0)]].device), "node0.nic1b");
}

TEST(NcclPaths, WithoutPeerAccessOrGpudirectEverythingGoesThroughTheCpu) {
  NcclSettings off;
  off.p2p_level = topology::PathType::kLoc;
  off.gdr = false;
  const NcclSystem s = system_of(nccl_machine(TestNode{}, 2), true, off);
  EXPECT_EQ(s.gpu_gpu.at(0, 1).type, topology::PathType::kPhb);
  EXPECT_EQ(s.gpu_gpu.at(0, 7).type, topology::PathType::kSys);
  EXPECT_EQ(s.gpu_net.at(0, 0).type, topology::PathType::kPhb);
  EXPECT_GT(s.gpu_net.at(0, 0).links.size(), 3u) << "up to the CPU and down again";
}

TEST(NcclPaths, PciePeersAreAllowedUpToSeveralSwitchesUnlessAMachineOfTwoIsAmds) {
  TestNode pcie;
  pcie.nvlinks = 0;
  pcie.gpus = 4;
  pcie.gpus_per_switch = 2;
  const NcclSystem s = system_of(nccl_machine(pcie, 1), false);
  EXPECT_EQ(s.gpu_gpu.at(0, 1).type, topology::PathType::kPix);
  EXPECT_EQ(s.gpu_gpu.at(0, 2).type, topology::PathType::kSys);
  EXPECT_EQ(s.gpu_gpu.at(0, 2).links.size(), 5u) << "GPU, switch, CPU, CPU, switch, GPU";
  TestNode amd = pcie;
  amd.gpus = 2;
  amd.gpus_per_switch = 1;
  amd.vendor = "AuthenticAMD";
  amd.family = 25;
  EXPECT_EQ(system_of(nccl_machine(amd, 1), false).gpu_gpu.at(0, 1).type, topology::PathType::kSys);
}

TEST(NcclPaths, TwoGpusAndTwoNicsOfOneSwitchEachTakeTheirOwn) {
  TestNode pairs;
  pairs.compute_capability = 80;
  pairs.gpus_per_switch = pairs.nics_per_switch = 2;
  pairs.pcie_generation = 4;
  const NcclSystem s = system_of(nccl_machine(pairs, 2), true);
  for (std::uint32_t g = 0; g < 8; ++g) EXPECT_EQ(local_net(s, g, 0), g);
  TestNode four;
  four.nics_per_switch = 4;
  const NcclSystem p5 = system_of(nccl_machine(four, 2), true);
  for (std::uint32_t c = 0; c < 8; ++c) EXPECT_EQ(local_net(p5, 3, c), 12 + c % 4) << "four NICs take turns";
}

TEST(NcclPaths, OneGpuBetweenTwoNvlinksMayPassTrafficOn) {
  topology::NodeTemplate n;
  const auto gpu = [&](const char* name) {
    topology::TemplateDevice d;
    d.name = name;
    d.device_class.compute_capability = 70;
    n.devices.push_back(d);
  };
  gpu("gpu0"), gpu("gpu1"), gpu("gpu2");
  n.links.push_back({0, 1, nccl_link(topology::LinkKind::kNvlink, 50, 2)});
  n.links.push_back({1, 2, nccl_link(topology::LinkKind::kNvlink, 25, 1)});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(n));
  const topology::Topology t = std::move(b).seal();
  const NcclSystem s = system_of(t, false);
  EXPECT_EQ(s.gpu_gpu.at(0, 2).type, topology::PathType::kNvb);
  EXPECT_FLOAT_EQ(s.gpu_gpu.at(0, 2).GBps, 20);
  EXPECT_FLOAT_EQ(s.gpu_gpu.at(0, 1).GBps, 40);
  NcclSettings off;
  off.nvb = false;
  EXPECT_NE(system_of(t, false, off).gpu_gpu.at(0, 2).type, topology::PathType::kNvb);
}

TEST(NcclSystem, RefusesAcceleratorsWithoutKnownRules) {
  TestNode unknown;
  unknown.compute_capability = 0;
  const topology::Topology t = nccl_machine(unknown, 1);
  const auto refused = build_nccl_system(t, t.gpus(), counted(8), false, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
}

TEST(NcclSystem, RefusesDomainsLargerThanNcclKnows) {
  TestNode large;
  large.gpus = 80;
  const topology::Topology t = nccl_machine(large, 1);
  const auto refused = build_nccl_system(t, t.gpus(), counted(80), false, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("at most 72"), std::string::npos);
}

/// Two ports of 200 Gb/s per card, and one card per GPU.
topology::Topology dual_ports() {
  TestNode node;
  node.nic_gigabits = 200;
  node.nics_per_switch = node.ports_per_card = 2;
  return nccl_machine(node, 2);
}

std::vector<std::size_t> ports_of(const NcclSystem& s) {
  std::vector<std::size_t> out;
  for (const std::uint32_t n : s.nets) out.push_back(s.nodes[n].ports.size());
  return out;
}

TEST(NcclNics, PortsOfACardAreOneDeviceWithTheirSumBehindThePcieLinkOfOne) {
  const NcclSystem s = system_of(dual_ports(), true);
  EXPECT_EQ(ports_of(s), std::vector<std::size_t>(8, 2));
  EXPECT_FLOAT_EQ(s.nodes[s.nets[0]].net_GBps, 50);
  EXPECT_FLOAT_EQ(s.gpu_net.at(0, 0).GBps, 48) << "PCIe 5 x16";
}

TEST(NcclNics, ReleasesBefore220AndLevelLocLeavePortsApart) {
  NcclSettings old, off;
  old.version = {2, 19};
  off.merge_level = topology::PathType::kLoc;
  for (const NcclSettings& settings : {old, off}) {
    const NcclSystem s = system_of(dual_ports(), true, settings);
    ASSERT_EQ(ports_of(s), std::vector<std::size_t>(16, 1));
    EXPECT_EQ(s.nodes[s.nets[0]].asic, s.nodes[s.nets[1]].asic) << "one card still";
    EXPECT_NE(s.nodes[s.nets[0]].port, s.nodes[s.nets[1]].port);
    EXPECT_NE(s.nodes[s.nets[0]].asic, s.nodes[s.nets[2]].asic);
  }
}

TEST(NcclNics, AsManyPortsAreMergedAsTheReleaseAllows) {
  TestNode node;
  node.gpus = 2;
  node.nics_per_switch = node.ports_per_card = 8;
  const topology::Topology t = nccl_machine(node, 2);
  for (const auto& [minor, ports] : {std::pair{23, 2u}, {29, 4u}, {30, 8u}}) {
    NcclSettings settings;
    settings.version.minor = static_cast<std::uint16_t>(minor);
    EXPECT_EQ(ports_of(system_of(t, true, settings)), std::vector<std::size_t>(16 / ports, ports)) << minor;
  }
}

TEST(NcclNics, ALevelOfPcieSwitchesMergesCardsAndSumsTheirPcieLinks) {
  TestNode node;
  node.nics_per_switch = 2;  // cards with one port each
  const topology::Topology t = nccl_machine(node, 2);
  NcclSettings settings;
  EXPECT_EQ(ports_of(system_of(t, true, settings)).size(), 16u);
  settings.merge_level = topology::PathType::kPix;
  const NcclSystem s = system_of(t, true, settings);
  EXPECT_EQ(ports_of(s), std::vector<std::size_t>(8, 2));
  EXPECT_FLOAT_EQ(s.nodes[s.nets[0]].net_GBps, 100);
  EXPECT_FLOAT_EQ(s.net_cpu.at(0, 0).GBps, 48) << "the switch's own uplink stays as it is";
  float to_switch = 0;
  for (const std::uint32_t l : s.out[s.links[s.out[s.nets[0]][0]].to])
    if (s.links[l].kind == NcclLinkKind::kPci) to_switch = s.links[l].GBps;
  EXPECT_FLOAT_EQ(to_switch, 96);
}

TEST(NcclNics, AwsPluginGivesEveryGpuTheNicsNextToItAsOne) {
  TestNode node;
  node.nic_gigabits = 100;
  node.gpus_per_switch = 2;
  node.nics_per_switch = 7;
  const topology::Topology t = nccl_machine(node, 2);
  NcclSettings settings;
  settings.merges_nics = topology::NicMerging::kByGpu;
  const NcclSystem s = system_of(t, true, settings);
  EXPECT_EQ(ports_of(s), (std::vector<std::size_t>{4, 3, 4, 3, 4, 3, 4, 3})) << "7 for two GPUs, the larger first";
  settings.merges_nics = topology::NicMerging::kNone;
  EXPECT_EQ(ports_of(system_of(t, true, settings)).size(), 28u);
}

}  // namespace
}  // namespace busbar::nccl
