#include "busbar/nccl/graph.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "busbar/nccl/kept_graphs.h"
#include "busbar/nccl/test_nodes.h"

namespace busbar::nccl {
namespace {

std::vector<topology::DeviceId> gpus_of_node0(const topology::Topology& t) {
  std::vector<topology::DeviceId> gpus;
  for (const topology::DeviceId g : t.gpus())
    if (t.block_of(g) == static_cast<topology::BlockId>(0)) gpus.push_back(g);
  return gpus;
}

NcclSystem system_of(const topology::Topology& t, std::span<const topology::DeviceId> gpus, bool inter,
                     const NcclSettings& settings) {
  std::vector<std::uint32_t> ranks(gpus.size());
  std::iota(ranks.begin(), ranks.end(), 0u);
  return build_nccl_system(t, gpus, ranks, inter, settings).value();
}

/// The definition: every channel visits every GPU once over allowed paths, and all channels together fit on the links.
void expect_sound(const NcclSystem& s, const NcclGraph& g) {
  std::vector<double> used(s.links.size(), 0.0);
  const auto load = [&](const NcclPath& p, double rate, topology::PathType most) {
    EXPECT_LE(p.type, most);
    for (const std::uint32_t l : p.links) used[l] += rate;
  };
  const auto n = static_cast<std::uint32_t>(s.gpu_count());
  for (std::uint32_t c = 0; c < g.channels; ++c) {
    std::set<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < n; ++i) seen.insert(g.gpu(c, i));
    EXPECT_EQ(seen.size(), n) << "channel " << c;
    for (std::uint32_t i = 0; i + 1 < n; ++i)
      load(s.gpu_gpu.at(g.gpu(c, i), g.gpu(c, i + 1)), g.intra_GBps, g.intra_type);
    const std::uint32_t last = g.pattern == NcclPattern::kRing ? n - 1 : 0;
    if (g.inter.empty()) {
      if (g.pattern == NcclPattern::kRing) load(s.gpu_gpu.at(g.gpu(c, n - 1), g.gpu(c, 0)), g.intra_GBps, g.intra_type);
      continue;
    }
    load(s.net_gpu.at(g.net(c, 0), g.gpu(c, 0)), g.inter_GBps, g.inter_type);
    const bool half = g.pattern == NcclPattern::kBalancedTree;
    for (const std::uint32_t place : half ? std::vector<std::uint32_t>{0, 1} : std::vector<std::uint32_t>{last})
      load(s.gpu_net.at(g.gpu(c, place), g.net(c, 1)), half ? g.inter_GBps / 2 : g.inter_GBps, g.inter_type);
  }
  for (std::uint32_t l = 0; l < used.size(); ++l)
    EXPECT_LE(used[l], s.links[l].GBps + 1e-2)
        << name_of(s.nodes[s.links[l].from].kind) << " to " << name_of(s.nodes[s.links[l].to].kind);
}

TEST(NcclSearch, ChannelsAreChainsOfAllGpusThatFitOnTheLinksTogether) {
  std::vector<TestNode> nodes(7);
  nodes[1].compute_capability = 80, nodes[1].nvlinks = 12, nodes[1].gpus_per_switch = nodes[1].nics_per_switch = 2;
  nodes[1].pcie_generation = 4, nodes[1].nic_gigabits = 200;
  nodes[2].compute_capability = 100;
  nodes[3].nics_per_switch = 4, nodes[3].nic_gigabits = 100;
  nodes[4].nvlinks = 0, nodes[4].gpus = 4, nodes[4].gpus_per_switch = 2;
  nodes[5].gpus = 4;
  nodes[6].gpus_per_switch = 4, nodes[6].vendor = "AuthenticAMD";
  for (const TestNode& node : nodes)
    for (const bool inter : {false, true})
      for (const int cross : {0, 1, 2}) {
        NcclSettings settings;
        settings.cross_nic = cross;
        const topology::Topology t = nccl_machine(node, 2);
        const NcclSystem s = system_of(t, gpus_of_node0(t), inter, settings);
        const NcclGraphs g = search_nccl_graphs(s, settings);
        EXPECT_GT(g.ring.channels, 0u);
        expect_sound(s, g.ring);
        expect_sound(s, g.tree);
      }
}

struct Expected {
  int capability;
  std::uint16_t nvlinks;
  NcclVersion version;
  std::uint32_t channels;
  float GBps;
};
/// Channels of one node as logs report them, before doubling. Bandwidths follow from the speeds that the search tries.
TEST(NcclSearch, OneNodeHasTheChannelsOfItsLogs) {
  for (const Expected& e : {Expected{80, 12, {2, 20}, 12, 20}, Expected{90, 18, {2, 20}, 12, 30},
                            Expected{90, 18, {2, 30}, 12, 30}, Expected{100, 18, {2, 25}, 16, 45}}) {
    TestNode node;
    node.compute_capability = e.capability;
    node.nvlinks = e.nvlinks;
    NcclSettings settings;
    settings.version = e.version;
    const topology::Topology t = nccl_machine(node, 1);
    const NcclGraphs g = search_nccl_graphs(system_of(t, t.gpus(), false, settings), settings);
    EXPECT_EQ(g.ring.channels, e.channels) << e.capability;
    EXPECT_FLOAT_EQ(g.ring.intra_GBps, e.GBps) << e.capability;
    for (std::uint32_t c = 0; c < g.ring.channels; ++c)
      for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(g.ring.gpu(c, i), i) << "all channels in order of PCI";
  }
}

TEST(NcclSearch, RailsTurnDownwardsAndLeaveThroughTheGpuThatTheyCameInBy) {
  NcclSettings settings;
  settings.cross_nic = 0;
  const topology::Topology t = nccl_machine(TestNode{}, 2);
  const NcclGraphs g = search_nccl_graphs(system_of(t, gpus_of_node0(t), true, settings), settings);
  ASSERT_EQ(g.ring.channels, 8u);
  EXPECT_FLOAT_EQ(g.ring.intra_GBps, 45) << "eight times 48 do not fit on 370.8";
  EXPECT_EQ(g.ring.inter_type, topology::PathType::kPxn);
  EXPECT_EQ(g.tree.pattern, NcclPattern::kTree);
  for (std::uint32_t c = 0; c < 8; ++c)
    for (std::uint32_t i = 0; i < 8; ++i) {
      EXPECT_EQ(g.ring.gpu(c, i), (c + 8 - i) % 8);
      EXPECT_EQ(g.tree.gpu(c, i), (c + i) % 8);
      EXPECT_EQ(g.ring.net(c, 0), c);
      EXPECT_EQ(g.ring.net(c, 1), c);
    }
}

/// Public notes of 2 x 8 H100 with 8 x 400 Gb/s: "Pattern 4, crossNic 2, nChannels 8, bw 48.000000/48.000000, type
/// NVL/PIX".
TEST(NcclSearch, MayAlternateNicsWhereThatIsFaster) {
  const topology::Topology t = nccl_machine(TestNode{}, 2);
  const NcclGraphs g = search_nccl_graphs(system_of(t, gpus_of_node0(t), true, {}), {});
  EXPECT_EQ(g.ring.cross_nic, 2);
  EXPECT_EQ(g.ring.channels, 8u);
  EXPECT_FLOAT_EQ(g.ring.intra_GBps, 48);
  EXPECT_EQ(g.ring.inter_type, topology::PathType::kPix);
  for (std::uint32_t c = 0; c < 8; ++c) EXPECT_EQ(g.ring.net(c, 1), g.ring.net(c ^ 1u, 0)) << "pairs swap";
}

/// NCCL issue 1189: 2 of 8 H20 with 2 NICs, PXN off, an older release: "Pattern 4, crossNic 1, nChannels 4, bw
/// 24.000000/24.000000, type NVL/PIX"; until 2.22 alternating pairs were called crossNic 1.
TEST(NcclSearch, TwoGpusWithTwoNicsMatchAPublicLog) {
  NcclSettings settings;
  settings.version = {2, 19};
  settings.pxn = false;
  TestNode node;
  node.gpus = 2;
  const topology::Topology t = nccl_machine(node, 2);
  const NcclGraphs g = search_nccl_graphs(system_of(t, gpus_of_node0(t), true, settings), settings);
  EXPECT_EQ(g.ring.cross_nic, 2);
  EXPECT_EQ(g.ring.channels, 4u);
  EXPECT_FLOAT_EQ(g.ring.intra_GBps, 24);
  EXPECT_EQ(g.ring.inter_type, topology::PathType::kPix);
  const std::uint32_t gpus[4][2] = {{0, 1}, {1, 0}, {0, 1}, {1, 0}};
  for (std::uint32_t c = 0; c < 4; ++c) {
    EXPECT_EQ(g.ring.gpu(c, 0), gpus[c][0]);
    EXPECT_EQ(g.ring.gpu(c, 1), gpus[c][1]);
    EXPECT_EQ(g.ring.net(c, 0), gpus[c][0]);
    EXPECT_EQ(g.ring.net(c, 1), gpus[c][1]);
  }
}

TEST(NcclSearch, EveryGpuIsAHeadOfNvlsFromHopperOn) {
  const topology::Topology t = nccl_machine(TestNode{}, 1);
  const NcclGraphs g = search_nccl_graphs(system_of(t, t.gpus(), false, {}), {});
  ASSERT_EQ(g.nvls.channels, 8u);
  for (std::uint32_t c = 0; c < 8; ++c) EXPECT_EQ(g.nvls.gpu(c, 0), c);
  TestNode ampere;
  ampere.compute_capability = 80;
  ampere.nvlinks = 12;
  const topology::Topology a = nccl_machine(ampere, 1);
  EXPECT_EQ(search_nccl_graphs(system_of(a, a.gpus(), false, {}), {}).nvls.channels, 0u);
}

/// One head per NIC: a chain of all GPUs to the head, and direct paths from every GPU to at most eight heads.
TEST(NcclSearch, CollnetHasAHeadPerNicOfAReducingNetworkAndNoneElsewhere) {
  NcclSettings settings;
  settings.collnet = true;
  const topology::Topology t = nccl_machine(TestNode{}, 2);
  const NcclGraphs g = search_nccl_graphs(system_of(t, gpus_of_node0(t), true, settings), settings);
  EXPECT_EQ(g.collnet_chain.pattern, NcclPattern::kTree);
  EXPECT_EQ(g.collnet_chain.channels, g.ring.channels);
  ASSERT_EQ(g.collnet_direct.channels, 8u);
  std::set<std::uint32_t> heads;
  for (std::uint32_t c = 0; c < 8; ++c) {
    heads.insert(g.collnet_direct.gpu(c, 0));
    EXPECT_EQ(g.collnet_direct.net(c, 0), g.collnet_direct.gpu(c, 0)) << "the NIC next to the head";
    EXPECT_EQ(g.collnet_chain.net(c, 0), g.collnet_chain.gpu(c, 0));
  }
  EXPECT_EQ(heads.size(), 8u);
  const NcclGraphs off = search_nccl_graphs(system_of(t, gpus_of_node0(t), true, {}), {});
  EXPECT_EQ(off.collnet_chain.channels, 0u);
}

TEST(NcclSearch, OtherNumbersOfTheSameDevicesGiveTheSameChannels) {
  TestNode plain, renumbered;
  renumbered.nics_first = true;
  for (const bool inter : {false, true}) {
    const topology::Topology a = nccl_machine(plain, 2), b = nccl_machine(renumbered, 2);
    const NcclSystem sa = system_of(a, gpus_of_node0(a), inter, {}), sb = system_of(b, gpus_of_node0(b), inter, {});
    const NcclGraphs ga = search_nccl_graphs(sa, {}), gb = search_nccl_graphs(sb, {});
    EXPECT_EQ(ga.ring.channels, gb.ring.channels);
    EXPECT_EQ(ga.ring.intra, gb.ring.intra);
    EXPECT_EQ(ga.tree.intra, gb.tree.intra);
    for (std::uint32_t c = 0; inter && c < ga.ring.channels; ++c)
      for (const std::uint32_t side : {0u, 1u}) EXPECT_EQ(7 - ga.ring.net(c, side), gb.ring.net(c, side));
  }
}

TEST(NcclSearch, HiddenGpusLeaveAChainOfTheOthers) {
  NcclSettings settings;
  settings.cross_nic = 0;
  const topology::Topology t = nccl_machine(TestNode{}, 2);
  const std::vector<topology::DeviceId> all = gpus_of_node0(t), some{all[0], all[2], all[3], all[6]};
  const NcclSystem s = system_of(t, some, true, settings);
  const NcclGraphs g = search_nccl_graphs(s, settings);
  EXPECT_EQ(g.ring.gpus, 4u);
  expect_sound(s, g.ring);
  for (std::uint32_t c = 0; c < g.ring.channels; ++c) {
    const std::uint32_t head = g.ring.gpu(c, 0);
    EXPECT_EQ(s.nodes[s.gpus[head]].device, some[head]);
    EXPECT_EQ(g.ring.net(c, 0), index(some[head]) - index(all[0])) << "a head has its own NIC, used or not by others";
  }
}

TEST(KeptGraphs, SearchOnceForEqualMachinesAndSettings) {
  const topology::Topology t = nccl_machine(TestNode{}, 2);
  const std::vector<topology::DeviceId> gpus = gpus_of_node0(t);
  NcclSettings settings;
  const NcclSystem system = system_of(t, gpus, true, settings);
  KeptGraphs kept(2);
  const auto rings = [&](const NcclSystem& s, const NcclSettings& with) {
    const NcclGraphs graphs = kept.of(s, with);
    EXPECT_EQ(graphs.ring.intra, search_nccl_graphs(s, with).ring.intra);
    return kept.searches();
  };
  EXPECT_EQ(rings(system, settings), 1u);
  settings.shortcuts = Shortcuts::none();
  EXPECT_EQ(rings(system, settings), 1u) << "shortcuts change no result";
  settings.max_channels = 2;
  EXPECT_EQ(rings(system, settings), 2u);
  NcclSystem slower = system;
  slower.nodes[slower.nets.back()].net_GBps /= 4;
  EXPECT_EQ(rings(slower, settings), 3u);
  EXPECT_EQ(rings(system, settings), 3u) << "two are kept";
  EXPECT_EQ(rings(system, NcclSettings{}), 4u) << "the first has gone";
}

}  // namespace
}  // namespace busbar::nccl
