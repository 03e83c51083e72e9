#include "busbar/nccl/comm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "busbar/nccl/test_nodes.h"

namespace busbar::nccl {
namespace {

NcclComm comm_of(const topology::Topology& t, const NcclSettings& settings) {
  return build_nccl_comm(t, t.gpus(), settings).value();
}

NcclSettings rails(NcclVersion version) {
  NcclSettings s;
  s.version = version;
  s.cross_nic = 0;
  return s;
}

std::string children(const NcclTree& t, std::uint32_t rank) {
  const auto& d = t.down[rank];
  return std::to_string(d[0]) + "/" + std::to_string(d[1]) + "/" + std::to_string(d[2]);
}

/// Compares all rings, trees and network sends of a shortened log with ours. `nic_of` maps a device of the log to our
/// NIC. Returns how many lines were compared.
template <class NicOf>
int compare_with_log(const char* file, const topology::Topology& t, const NcclComm& comm, const NicOf& nic_of) {
  std::ifstream in(file);
  EXPECT_TRUE(in) << file;
  int compared = 0;
  std::map<std::uint32_t, NcclTree> trees;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string kind;
    std::uint32_t channel = 0;
    words >> kind >> channel;
    if (kind == "#") continue;
    ++compared;
    if (kind == "ring") {
      std::vector<std::uint32_t> order;
      for (std::uint32_t r = 0; words >> r;) order.push_back(r);
      std::vector<std::uint32_t> ours = nccl_ring(comm, channel).order;
      ours.resize(order.size());  // logs cut long lines
      EXPECT_EQ(ours, order) << line;
    } else if (kind == "tree") {
      std::uint32_t rank = 0;
      std::string down;
      std::int32_t up = 0;
      words >> rank >> down >> up;
      if (!trees.contains(channel)) trees[channel] = nccl_tree(comm, channel);
      EXPECT_EQ(children(trees[channel], rank), down) << line;
      EXPECT_EQ(trees[channel].up[rank], up) << line;
    } else {
      std::uint32_t from = 0, to = 0, device = 0, proxy = 0;
      words >> from >> to >> device >> proxy;
      const NcclRing ring = nccl_ring(comm, channel);
      const std::uint32_t node = from / 8;
      const NcclPort& out = ring.ports[node].out;
      if (out.rank != from || from % 8 == to % 8) continue;  // a send of a tree or an NVLS tree
      EXPECT_EQ(out.proxy, proxy) << line;
      const std::string nic = "node" + std::to_string(node) + ".nic" + std::to_string(nic_of(device));
      EXPECT_EQ(t.name(nic_devices(comm, node, out.net).front()), nic) << line;
    }
  }
  return compared;
}

/// The log numbers devices from the second socket: device 4 is next to GPU 0.
TEST(NcclOracle, RingsTreesNicsAndProxiesEqualALogOfTwoNodesOf8H100) {
  const topology::Topology t = nccl_machine(TestNode{}, 2);
  const NcclComm comm = comm_of(t, rails({2, 19}));
  EXPECT_EQ(comm.channels, 16u);
  EXPECT_EQ(comm.nvls_channels, 16u);
  EXPECT_EQ(comm.p2p_channels, 16u);
  EXPECT_EQ(comm.p2p_channels_per_peer, 2u);
  EXPECT_GT(compare_with_log("tests/fixtures/nccl/nebius-2x8-h100.txt", t, comm,
                             [](std::uint32_t device) { return (device + 4) % 8; }),
            500);
  const auto heads = nccl_nvls_heads(comm);
  ASSERT_EQ(heads.size(), 8u);
  for (std::uint32_t h = 0; h < 8; ++h) EXPECT_EQ(heads[h], (std::vector<std::uint32_t>{h, h + 8}));
}

TEST(NcclComm, GpusWithoutNvlinkHaveTwoChannelsBetweenThem) {
  TestNode pcie;
  pcie.nvlinks = 0;
  NcclSettings settings;
  settings.min_channels = 8;
  const NcclComm comm = comm_of(nccl_machine(pcie, 1), settings);
  EXPECT_EQ(comm.p2p_channels, 8u);
  EXPECT_EQ(comm.p2p_channels_per_peer, 2u);
}

TEST(NcclComm, AGpuListsEachOfItsNicsOnce) {
  TestNode two;
  two.nics_per_switch = 2;
  const NcclComm comm = comm_of(nccl_machine(two, 2), rails({2, 27}));
  for (std::uint32_t g = 0; g < 8; ++g) {
    const std::vector<std::uint32_t> nets = local_nets(comm.shapes.front().system, g);
    EXPECT_EQ(nets.size(), 2u) << g;
    EXPECT_EQ(std::set<std::uint32_t>(nets.begin(), nets.end()).size(), nets.size()) << g;
  }
}

/// Devices 0 to 3 and 8 to 11 carry the rails; 4 to 7 carry none.
TEST(NcclOracle, RingsTreesNicsAndProxiesEqualALogOfTwoNodesOf8B200) {
  TestNode b200;
  b200.compute_capability = 100;
  const topology::Topology t = nccl_machine(b200, 2);
  NcclSettings settings;
  settings.version = {2, 27};
  settings.min_channels = 32;
  settings.channels_per_peer = 32;
  settings.nvls = false;
  const NcclComm comm = comm_of(t, settings);
  EXPECT_EQ(comm.graphs.ring.cross_nic, 0) << "with room on NVLink nothing is gained by crossing";
  EXPECT_EQ(comm.channels, 32u);
  EXPECT_EQ(comm.nvls_channels, 0u);
  EXPECT_EQ(comm.p2p_channels, 32u);
  EXPECT_EQ(comm.p2p_channels_per_peer, 32u);
  EXPECT_GT(compare_with_log("tests/fixtures/nccl/dell-2x8-b200.txt", t, comm,
                             [](std::uint32_t device) { return device < 4 ? device : device - 4; }),
            500);
}

/// An older release, which did not prefer neighbours. Devices 1 and 8 carry no rail.
TEST(NcclOracle, RingsTreesNicsAndProxiesEqualALogOfTwoNodesOf8H200) {
  const topology::Topology t = nccl_machine(TestNode{}, 2);
  NcclSettings settings = rails({2, 18});
  settings.nvls = false;
  settings.gdr_level = topology::PathType::kPix;
  const NcclComm comm = comm_of(t, settings);
  EXPECT_EQ(comm.channels, 16u);
  EXPECT_EQ(comm.p2p_channels_per_peer, 2u);
  EXPECT_GT(compare_with_log("tests/fixtures/nccl/dell-2x8-h200.txt", t, comm,
                             [](std::uint32_t device) {
                               constexpr std::uint32_t kRail[] = {0, 99, 1, 2, 3, 4, 5, 6, 99, 7};
                               return kRail[device];
                             }),
            300);
}

TEST(NcclOracle, RingsAndTreesEqualALogOfSixNodesOf8H100) {
  const topology::Topology t = nccl_machine(TestNode{}, 6);
  const NcclComm comm = comm_of(t, rails({2, 18}));
  EXPECT_GT(compare_with_log("tests/fixtures/nccl/clemson-6x8-h100.txt", t, comm, [](std::uint32_t d) { return d; }),
            700);
}

struct Counts {
  int capability;
  std::uint32_t nodes;
  NcclVersion version;
  bool nvls;
  std::uint32_t coll, nvls_channels, p2p, per_peer;
};
/// "NN coll channels, NN nvls channels, NN p2p channels, NN p2p channels per peer" of the sample logs.
TEST(NcclOracle, ChannelCountsEqualTheLogs) {
  for (const Counts& e :
       {Counts{90, 6, {2, 18}, true, 16, 16, 16, 2}, Counts{90, 2, {2, 18}, false, 16, 0, 16, 2},
        Counts{90, 1, {2, 20}, false, 24, 0, 32, 32}, Counts{100, 1, {2, 25}, true, 32, 32, 32, 32}}) {
    TestNode node;
    node.compute_capability = e.capability;
    const topology::Topology t = nccl_machine(node, e.nodes);
    NcclSettings settings = rails(e.version);
    settings.nvls = e.nvls;
    const NcclComm c = comm_of(t, settings);
    EXPECT_EQ(c.channels, e.coll) << e.capability << " x " << e.nodes;
    EXPECT_EQ(c.nvls_channels, e.nvls_channels) << e.capability << " x " << e.nodes;
    EXPECT_EQ(c.p2p_channels, e.p2p) << e.capability << " x " << e.nodes;
    EXPECT_EQ(c.p2p_channels_per_peer, e.per_peer) << e.capability << " x " << e.nodes;
  }
}

/// The trees over 14 nodes as drawn in NCCL's source: 0-8, 8-{4,12}, 4-{2,6}, 12-{10,13}; leaves are odd.
TEST(NcclTrees, FourteenNodesFormTheTreeOfTheTextbook) {
  TestNode one;
  one.gpus = 2;
  const topology::Topology t = nccl_machine(one, 14);
  const NcclComm comm = comm_of(t, rails({}));
  const NcclTree tree = nccl_tree(comm, 0);
  const auto parent_node = [&](std::uint32_t n) { return tree.up[2 * n] / 2; };
  EXPECT_EQ(tree.up[0], kNoRank);
  EXPECT_EQ(parent_node(8), 0);
  EXPECT_EQ(parent_node(4), 8);
  EXPECT_EQ(parent_node(12), 8);
  EXPECT_EQ(parent_node(2), 4);
  EXPECT_EQ(parent_node(6), 4);
  EXPECT_EQ(parent_node(10), 12);
  EXPECT_EQ(parent_node(13), 12);
}

TEST(NcclTrees, SpanAllRanksAndAreMatesOverTheNodes) {
  for (const std::uint32_t nodes : {1u, 2u, 3u, 5u, 8u, 13u, 16u}) {
    const topology::Topology t = nccl_machine(TestNode{}, nodes);
    const NcclComm comm = comm_of(t, rails({}));
    std::vector<int> inner(nodes, 0);
    for (const std::uint32_t channel : {0u, comm.search_channels}) {
      const NcclTree tree = nccl_tree(comm, channel);
      int roots = 0;
      for (std::uint32_t r = 0; r < comm.ranks; ++r) {
        roots += tree.up[r] == kNoRank ? 1 : 0;
        std::uint32_t at = r, steps = 0;
        while (tree.up[at] != kNoRank && steps <= comm.ranks) at = static_cast<std::uint32_t>(tree.up[at]), ++steps;
        EXPECT_LE(steps, comm.ranks) << "no cycle";
        for (const std::int32_t d : tree.down[r]) {
          if (d == kNoRank) continue;
          EXPECT_EQ(tree.up[static_cast<std::uint32_t>(d)], static_cast<std::int32_t>(r));
          if (static_cast<std::uint32_t>(d) / 8 != r / 8) inner[r / 8] |= channel == 0 ? 1 : 2;
        }
      }
      EXPECT_EQ(roots, 1);
    }
    EXPECT_LE(std::count(inner.begin(), inner.end(), 3), nodes % 2) << "inner in one tree, leaf in the other";
  }
}

TEST(NcclRings, AlternatingRingsCrossNodesWithoutCrossingRails) {
  const topology::Topology t = nccl_machine(TestNode{}, 4);
  const NcclComm comm = comm_of(t, {});
  ASSERT_EQ(comm.graphs.ring.cross_nic, 2);
  for (std::uint32_t c = 0; c < comm.channels; ++c) {
    const NcclRing ring = nccl_ring(comm, c);
    EXPECT_EQ(std::set<std::uint32_t>(ring.order.begin(), ring.order.end()).size(), comm.ranks);
    for (std::uint32_t n = 0; n < 4; ++n)
      EXPECT_EQ(ring.ports[n].out.net, ring.ports[(n + 1) % 4].in.net) << "channel " << c;
  }
}

TEST(NcclComm, NodesWithEqualWiringAreSearchedOnceAndADegradedNicDiffers) {
  const TestNode node;
  const topology::Topology t = nccl_machine(node, 6);
  EXPECT_EQ(comm_of(t, {}).shapes.size(), 1u);
  topology::TopologyBuilder b;
  const std::uint32_t sound = b.add_template(nccl_node(node));
  TestNode half = node;
  half.gpus = 4;
  const std::uint32_t other = b.add_template(nccl_node(half));
  b.add_block(sound), b.add_block(other);
  const topology::Topology mixed = std::move(b).seal();
  const NcclComm comm = comm_of(mixed, {});
  EXPECT_EQ(comm.shapes.size(), 2u);
  EXPECT_EQ(comm.ranks, 12u);
}

TEST(NcclBalance, RailsAreEvenAndTwoRingsOnOneNicAreNot) {
  const topology::Topology t = nccl_machine(TestNode{}, 2);
  NcclComm comm = comm_of(t, rails({}));
  for (const bool even : balanced_rings(comm)) EXPECT_TRUE(even);
  for (const bool even : balanced_trees(comm)) EXPECT_TRUE(even);
  NcclGraph& ring = comm.shapes[0].graphs.ring;
  ring.inter[2] = ring.inter[3] = 0;  // channel 1 uses the NIC of channel 0, so NIC 1 is idle
  EXPECT_FALSE(balanced_rings(comm)[0]);
  EXPECT_FALSE(balanced_rings(comm)[1]);
}

TEST(NcclBalance, AFarNicIsMarkedForItsChannelAlone) {
  const topology::Topology t = nccl_machine(TestNode{}, 2);
  NcclComm comm = comm_of(t, rails({}));
  NcclGraph& ring = comm.shapes[0].graphs.ring;
  std::swap(ring.inter[2], ring.inter[4]), std::swap(ring.inter[3], ring.inter[5]);
  const std::vector<bool> even = balanced_rings(comm);
  EXPECT_TRUE(even[0]);
  EXPECT_FALSE(even[1]);
  EXPECT_FALSE(even[2]);
  EXPECT_TRUE(even[3]);
}

TEST(NcclComm, CopiesOfANodeAreMoreNodesOfItsKind) {
  const topology::Topology one = nccl_machine(TestNode{}, 1), two = nccl_machine(TestNode{}, 2);
  const NcclComm copied = build_nccl_comm(one, one.gpus(), rails({}), 2).value(), real = comm_of(two, rails({}));
  ASSERT_EQ(copied.ranks, real.ranks);
  for (std::uint32_t c = 0; c < real.channels; ++c) {
    EXPECT_EQ(nccl_ring(copied, c).order, nccl_ring(real, c).order);
    EXPECT_EQ(nccl_tree(copied, c).up, nccl_tree(real, c).up);
  }
}

TEST(NcclComm, RanksMayStandInAnyOrder) {
  const topology::Topology t = nccl_machine(TestNode{}, 2);
  std::vector<topology::DeviceId> gpus(t.gpus().begin(), t.gpus().end());
  std::reverse(gpus.begin(), gpus.end());
  const NcclComm comm = build_nccl_comm(t, gpus, rails({})).value();
  const NcclRing ring = nccl_ring(comm, 0);
  EXPECT_EQ(ring.order.front(), 0u);
  EXPECT_EQ(std::set<std::uint32_t>(ring.order.begin(), ring.order.end()).size(), 16u);
  EXPECT_EQ(index(comm.nodes[0].block), 1u) << "nodes count from the one of rank 0";
}

}  // namespace
}  // namespace busbar::nccl
