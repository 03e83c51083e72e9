// A communicator: its nodes with their graphs, the settings common to all, its rings, trees and channel counts.
//
// Source: NVIDIA NCCL 2.30.7, src/init.cc, src/graph/connect.cc and paths.cc.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "busbar/nccl/graph.h"
#include "busbar/nccl/kept_graphs.h"

namespace busbar::nccl {

/// Nodes with equal wiring and the same GPUs in use share one system and its graphs.
struct NcclNodeShape {
  std::uint32_t first_device = 0;  ///< of the block from which it was built
  NcclSystem system;
  NcclGraphs graphs;
};

struct NcclMember {
  topology::BlockId block{};
  std::uint32_t first_device = 0;    ///< of the block
  std::uint32_t shape = 0;           ///< index into NcclComm::shapes
  std::vector<std::uint32_t> ranks;  ///< by GPU of the shape's system
};

struct NcclComm {
  NcclSettings settings;
  std::uint32_t ranks = 0;
  std::vector<NcclNodeShape> shapes;
  std::vector<NcclMember> nodes;  ///< in the order in which ranks first occur on them
  NcclGraphs graphs;              ///< common to all nodes: fewest channels, least bandwidth, worst types; no orders
  int least_capability = 0;
  bool nvls = false;                  ///< whether the multicast of the switches is used
  std::uint32_t search_channels = 0;  ///< of rings and trees, before they are doubled
  std::uint32_t channels = 0;         ///< for collectives
  std::uint32_t nvls_channels = 0;
  std::uint32_t p2p_channels = 0, p2p_channels_per_peer = 0;

  std::uint32_t node_count() const { return static_cast<std::uint32_t>(nodes.size()); }
  /// The number of ranks on the node with the most ranks.
  std::uint32_t most_local_ranks() const;
};

/// "NCCL 2.30"; with AMD GPUs "RCCL".
std::string library_name(const NcclComm& comm);
/// Where rings and trees come from: "its search", or for RCCL "its model 81". If nodes differ: the first node's.
std::string origin_of_rings(const NcclComm& comm);

/// Whether GPUs send through NICs near other GPUs: as set; if not set, RCCL decides by rank count. Pre: ranks > 0.
bool has_pxn(const NcclSettings& settings, const topology::Topology& topology, std::span<const topology::DeviceId> gpus,
             std::uint32_t copies = 1);

/// Rate of the slowest network device of all nodes; 0 if there is none.
float least_nic_GBps(const NcclComm& comm);

/// Rank r runs on gpus[r]; a block of the topology is a node. With `copies`, the same nodes are repeated that often
/// with higher ranks, so that the description of a single node models many. Errors: those of build_nccl_system. Cost:
/// one search per kind of node that `kept` does not know, plus O(ranks).
Result<NcclComm> build_nccl_comm(const topology::Topology& topology, std::span<const topology::DeviceId> gpus,
                                 const NcclSettings& settings, std::uint32_t copies = 1, KeptGraphs* kept = nullptr);

/// The network device by which a channel enters or leaves a node, and the ranks that send or receive there.
struct NcclPort {
  std::uint32_t net = 0;    ///< index in the node's system
  std::uint32_t rank = 0;   ///< first or last rank of the node's chain
  std::uint32_t proxy = 0;  ///< the rank next to the NIC; differs from `rank` with PXN
  bool operator==(const NcclPort&) const = default;
};
/// The NICs of node `node` that form network device `net` of its system.
std::vector<topology::DeviceId> nic_devices(const NcclComm& comm, std::uint32_t node, std::uint32_t net);

/// The ports of one channel in one node.
struct NcclPorts {
  NcclPort in, out;
  bool operator==(const NcclPorts&) const = default;
};

/// The port through which GPU `gpu` of a node reaches other nodes outside rings and trees, on channel `channel`.
/// Pre: the node has network devices.
NcclPort nccl_local_port(const NcclComm& comm, std::uint32_t node, std::uint32_t gpu, std::uint32_t channel);

struct NcclRing {
  std::vector<std::uint32_t> order;  ///< ranks, starting with rank 0
  std::vector<NcclPorts> ports;      ///< per node, in the order of nodes; empty with one node
};
/// The ring of channel `channel`. Pre: channel < comm.channels.
NcclRing nccl_ring(const NcclComm& comm, std::uint32_t channel);

inline constexpr std::int32_t kNoRank = -1;
struct NcclTree {
  std::vector<std::int32_t> up;                   ///< per rank: its parent, kNoRank for the root
  std::vector<std::array<std::int32_t, 3>> down;  ///< per rank: its children, kNoRank where one is missing
  std::vector<NcclPorts> ports;                   ///< per node; empty with one node
};
/// The tree of channel `channel`. The channels of the first half carry one of the two trees over the nodes, the other
/// channels carry the second tree.
NcclTree nccl_tree(const NcclComm& comm, std::uint32_t channel);

/// Per channel of the search, whether it is balanced: its NICs carry no more channels for their rate than any other NIC
/// of their node; each NIC is as near to its GPU as any other; and no scale-up link that it shares with another channel
/// has an idle parallel link.
std::vector<bool> balanced_rings(const NcclComm& comm);
std::vector<bool> balanced_trees(const NcclComm& comm);

/// Ranks that take part in NVLS across nodes: row h has head h of every node. Empty without NVLS.
std::vector<std::vector<std::uint32_t>> nccl_nvls_heads(const NcclComm& comm);

}  // namespace busbar::nccl
