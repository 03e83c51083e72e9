// Small ideal machines for the engines' tests.
#pragma once

#include "busbar/program/program.h"
#include "busbar/topology/test_parts.h"

namespace busbar::lowering {

inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

/// AR-a: n GPUs on one switch, 450 GB/s each way, 0.5 us per link.
inline topology::TopologyBuilder one_switch(std::uint32_t n) {
  topology::NodeTemplate node;
  node.name = "ar-a";
  for (std::uint32_t g = 0; g < n; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
  for (std::uint32_t g = 0; g < n; ++g)
    node.links.push_back({g, n, topology::test_link(topology::LinkKind::kNvlink, 450, Duration::ns(500))});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  return b;
}

/// AR-b: nodes of 8 GPUs on a switch as above, a 50 GB/s NIC each, all NICs on one ideal switch, 2 us per link.
inline topology::TopologyBuilder pods_of_eight(std::uint32_t nodes, bool reduces = false) {
  topology::NodeTemplate node;
  node.name = "ar-b";
  for (std::uint32_t g = 0; g < 8; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
  node.devices.back().device_class.reduces = reduces;
  for (std::uint32_t g = 0; g < 8; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kNic, "nic" + std::to_string(g)));
  for (std::uint32_t g = 0; g < 8; ++g) {
    node.links.push_back({g, 8, topology::test_link(topology::LinkKind::kNvlink, 450, Duration::ns(500))});
    node.links.push_back({g, 9 + g, topology::test_link(topology::LinkKind::kPcie, 1'000'000, Duration())});
  }
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  for (std::uint32_t i = 0; i < nodes; ++i) b.add_block(t);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  leaf.reduces = reduces;
  const topology::DeviceId hub = b.add_switch(leaf, "leaf0");
  for (std::uint32_t i = 0; i < nodes; ++i)
    for (std::uint32_t g = 0; g < 8; ++g)
      b.connect(b.device(static_cast<topology::BlockId>(i), 9 + g), hub,
                topology::test_link(topology::LinkKind::kInfiniband, 50, Duration::us(2)));
  return b;
}

/// Nodes of one GPU with `nics` NICs of 50 GB/s, all on one ideal switch.
inline topology::TopologyBuilder single_gpu_nodes(std::uint32_t nodes, std::uint32_t nics,
                                                  topology::DeviceClass leaf = {}) {
  topology::NodeTemplate node;
  node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu0"));
  for (std::uint32_t i = 0; i < nics; ++i) {
    node.devices.push_back(topology::test_device(topology::DeviceKind::kNic, "nic" + std::to_string(i)));
    node.links.push_back({0, 1 + i, topology::test_link(topology::LinkKind::kPcie, 1000, Duration())});
  }
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  for (std::uint32_t i = 0; i < nodes; ++i) b.add_block(t);
  leaf.kind = topology::DeviceKind::kLeaf;
  const topology::DeviceId hub = b.add_switch(leaf, "leaf0");
  for (std::uint32_t n = 0; n < nodes; ++n)
    for (std::uint32_t i = 0; i < nics; ++i)
      b.connect(b.device(static_cast<topology::BlockId>(n), 1 + i), hub,
                topology::test_link(topology::LinkKind::kInfiniband, 50, Duration()));
  return b;
}

/// `leaves` leaves of four one-GPU nodes each, `spines` spines: paths are chosen by hash. The last leaf passes on
/// `last_leaf_transit` at most, 0: as much as its cables bring.
inline topology::TopologyBuilder leaf_spine(std::uint32_t leaves, std::uint32_t spines, bool reduces = false,
                                            BytesPerSecond last_leaf_transit = {}) {
  topology::NodeTemplate node;
  node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu0"));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kNic, "nic0"));
  node.links.push_back({0, 1, topology::test_link(topology::LinkKind::kPcie, 1000, Duration())});
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  for (std::uint32_t i = 0; i < 4 * leaves; ++i) b.add_block(t);
  topology::DeviceClass leaf, spine;
  leaf.kind = topology::DeviceKind::kLeaf;
  spine.kind = topology::DeviceKind::kSpine;
  leaf.reduces = spine.reduces = reduces;
  std::vector<topology::DeviceId> lower, upper;
  for (std::uint32_t i = 0; i < leaves; ++i) {
    if (i + 1 == leaves) leaf.transit_rate = last_leaf_transit;
    lower.push_back(b.add_switch(leaf, "leaf" + std::to_string(i)));
  }
  for (std::uint32_t i = 0; i < spines; ++i) upper.push_back(b.add_switch(spine, "spine" + std::to_string(i)));
  const topology::LinkClass cable = topology::test_link(topology::LinkKind::kInfiniband, 50, Duration::us(1));
  for (std::uint32_t i = 0; i < 4 * leaves; ++i)
    b.connect(b.device(static_cast<topology::BlockId>(i), 1), lower[i / 4], cable);
  for (const topology::DeviceId l : lower)
    for (const topology::DeviceId u : upper) b.connect(l, u, cable);
  return b;
}

/// All GPUs as one group.
inline program::CollectiveCall test_call(std::uint32_t ranks, std::string algorithm, std::uint64_t bytes,
                                         std::uint32_t chunks = 1) {
  program::CollectiveCall c;
  c.op = collectives::Collective::kAllReduce;
  c.bytes = Bytes{bytes};
  c.groups = collectives::one_group(ranks);
  c.algorithm = std::move(algorithm);
  c.chunks = chunks;
  return c;
}

/// From one rank to another.
inline program::CollectiveCall pair_transfer(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
  program::CollectiveCall c = test_call(2, "direct", bytes);
  c.op = collectives::Collective::kSendRecv;
  c.groups = {};
  c.groups.listed = {from, to};
  c.groups.listed_groups = 1;
  return c;
}

/// Two pairs of GPUs: 50 GB/s between the two of a pair, 20 GB/s from each to one PCIe switch.
inline topology::Topology two_pairs() {
  topology::NodeTemplate node;
  for (int g = 0; g < 4; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kPcieSwitch, "pcie0"));
  for (std::uint32_t g = 0; g < 4; ++g)
    node.links.push_back({g, 4, topology::test_link(topology::LinkKind::kPcie, 20, Duration())});
  node.links.push_back({0, 1, topology::test_link(topology::LinkKind::kNvlink, 50, Duration())});
  node.links.push_back({2, 3, topology::test_link(topology::LinkKind::kNvlink, 50, Duration())});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  return std::move(b).seal();
}

}  // namespace busbar::lowering
