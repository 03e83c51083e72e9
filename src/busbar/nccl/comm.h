// A communicator: the nodes it spans with their graphs, what they agree on, and its rings, trees and channel counts.
//
// Source: NVIDIA NCCL 2.30.7, src/init.cc, src/graph/connect.cc and paths.cc.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "busbar/nccl/graph.h"

namespace busbar {

/// Nodes that are wired alike and give the same of their GPUs share one system and its graphs.
struct NcclNodeShape {
  std::uint32_t first_device = 0;  ///< of the block that it was made from
  NcclSystem system;
  NcclGraphs graphs;
};

struct NcclMember {
  BlockId block{};
  std::uint32_t first_device = 0;    ///< of the block
  std::uint32_t shape = 0;           ///< index into NcclComm::shapes
  std::vector<std::uint32_t> ranks;  ///< by GPU of the shape's system
};

struct NcclComm {
  NcclSettings settings;
  std::uint32_t ranks = 0;
  std::vector<NcclNodeShape> shapes;
  std::vector<NcclMember> nodes;  ///< in the order in which ranks first meet them
  NcclGraphs graphs;              ///< what all nodes can do: fewest channels, least bandwidth, worst types; no orders
  int least_capability = 0;
  bool nvls = false;                  ///< multicast in the switches is used
  std::uint32_t search_channels = 0;  ///< of rings and trees, before they are doubled
  std::uint32_t channels = 0;         ///< of collectives
  std::uint32_t nvls_channels = 0;
  std::uint32_t p2p_channels = 0, p2p_channels_per_peer = 0;

  std::uint32_t node_count() const { return static_cast<std::uint32_t>(nodes.size()); }
  /// Most ranks on one node.
  std::uint32_t most_local_ranks() const;
};

/// "NCCL 2.30"; on AMD's GPUs "RCCL".
std::string library_name(const NcclComm& comm);
/// Where rings and trees come from: "its search", or RCCL's "its model 81". Nodes may differ: that of the first.
std::string origin_of_rings(const NcclComm& comm);

/// Whether GPUs send by NICs next to others: as set, else with RCCL by the number of ranks. Pre: there are ranks.
bool has_pxn(const NcclSettings& settings, const Topology& topology, std::span<const DeviceId> gpus,
             std::uint32_t copies = 1);

/// Rate of the slowest network device of all nodes; 0 without one.
float least_nic_GBps(const NcclComm& comm);

/// Rank r runs on gpus[r]; a block of the topology is a node. With `copies` the same nodes follow as often, with higher
/// ranks, as if there were more of them: for the description of a single node. Errors: those of build_nccl_system.
/// Cost: one search per kind of node, O(ranks) else.
Result<NcclComm> build_nccl_comm(const Topology& topology, std::span<const DeviceId> gpus, const NcclSettings& settings,
                                 std::uint32_t copies = 1);

/// The network device by which a channel enters or leaves a node, and the rank that carries it to or from there.
struct NcclPort {
  std::uint32_t net = 0;    ///< of the node's system
  std::uint32_t rank = 0;   ///< first or last of the node's chain
  std::uint32_t proxy = 0;  ///< the rank next to the NIC; another than `rank` with PXN
  bool operator==(const NcclPort&) const = default;
};
/// The NICs that network device `net` of the node's system stands for, as devices of that very node.
std::vector<DeviceId> nic_devices(const NcclComm& comm, std::uint32_t node, std::uint32_t net);

/// Ports of one channel of one node.
struct NcclPorts {
  NcclPort in, out;
  bool operator==(const NcclPorts&) const = default;
};

/// The port by which rank number `gpu` of a node goes to other nodes outside rings and trees, on channel `channel`.
/// Pre: the node has network devices.
NcclPort nccl_local_port(const NcclComm& comm, std::uint32_t node, std::uint32_t gpu, std::uint32_t channel);

struct NcclRing {
  std::vector<std::uint32_t> order;  ///< ranks, from rank 0 on
  std::vector<NcclPorts> ports;      ///< per node in order of nodes; empty inside one node
};
/// Ring of channel `channel`. Pre: channel < comm.channels.
NcclRing nccl_ring(const NcclComm& comm, std::uint32_t channel);

inline constexpr std::int32_t kNoRank = -1;
struct NcclTree {
  std::vector<std::int32_t> up;                   ///< per rank: parent, kNoRank for the root
  std::vector<std::array<std::int32_t, 3>> down;  ///< per rank: children, kNoRank where there is none
  std::vector<NcclPorts> ports;                   ///< per node; empty inside one node
};
/// Tree of channel `channel`: channels of the first half carry one of the two trees over the nodes, the others the
/// other.
NcclTree nccl_tree(const NcclComm& comm, std::uint32_t channel);

/// Whether a channel burdens nothing while its like stands idle: its NICs carry no more channels for their rate than
/// any other NIC of their node, each is as near to its GPU as any, and no scale-up link that it shares with another
/// channel has an idle one beside it. By channel of the search.
std::vector<bool> balanced_rings(const NcclComm& comm);
std::vector<bool> balanced_trees(const NcclComm& comm);

/// Ranks that take part in NVLS across nodes: row h is head h of every node. Empty without NVLS.
std::vector<std::vector<std::uint32_t>> nccl_nvls_heads(const NcclComm& comm);

}  // namespace busbar
