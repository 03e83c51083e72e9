// The channels that NCCL finds inside one node. A channel has an order of the GPUs, the network devices by which it
// enters and leaves, and a bandwidth that all channels can have at the same time.
//
// Source: NVIDIA NCCL 2.30.7, src/graph/search.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "busbar/nccl/system.h"

namespace busbar::nccl {

/// The values are the numbers that NCCL prints.
enum class NcclPattern : std::uint8_t {
  kBalancedTree = 1,  ///< the first two GPUs carry half of the network traffic each
  kSplitTree = 2,     ///< the first GPU talks to the parent, the second to the children
  kTree = 3,          ///< the first GPU carries all network traffic
  kRing = 4,
  kNvls = 5,
  kCollnetDirect = 6,
};
const char* name_of(NcclPattern pattern);  ///< "balanced tree", ...

struct NcclGraph {
  NcclPattern pattern = NcclPattern::kRing;
  int cross_nic = 0;
  bool same_channels = true;
  bool collnet = false;  ///< only network devices that can reduce
  std::uint32_t channels = 0, min_channels = 1, max_channels = 32;
  float intra_GBps = 0, inter_GBps = 0;  ///< per channel
  float inter_latency_us = 0;
  topology::PathType intra_type = topology::PathType::kLoc, inter_type = topology::PathType::kPix;
  int hops = 0;
  std::uint32_t gpus = 0;            ///< of one node
  std::vector<std::uint32_t> intra;  ///< channel-major: the GPU at each place of the chain (for NVLS, heads only)
  std::vector<std::uint32_t> inter;  ///< channel-major pairs of network devices, in and out; empty with one node

  std::uint32_t gpu(std::uint32_t channel, std::uint32_t place) const { return intra[channel * gpus + place]; }
  std::uint32_t net(std::uint32_t channel, std::uint32_t side) const { return inter[channel * 2 + side]; }
};

/// Searches the graph of one pattern; `wanted` gives pattern, channel limits and collnet. The result has no channels if
/// NCCL has no such graph here (NVLS without a capable switch, CollNet without a capable network). The search is
/// bounded by steps, not by time, so its result is the same on every machine.
NcclGraph search_nccl_graph(const NcclSystem& system, NcclGraph wanted, const NcclSettings& settings);

/// RCCL's predefined rings for a node that it recognises (src/graph/rome_models.cc).
struct RcclMatch {
  int number = 0;               ///< "model 81"
  std::uint32_t index = 0;      ///< its index in RCCL's table, as RCCL's log prints it
  int tuning = -1;              ///< row of the cost tables; -1: the row of the GPU
  bool ll128 = false;           ///< RCCL trusts LL128 on this node
  bool rail_trees = false;      ///< the channels of a tree come in pairs with their first two GPUs swapped
  NcclGraph last, before_last;  ///< rings of the last two nodes if the node count is odd; empty: as on the others
};

/// All graphs of a communicator.
struct NcclGraphs {
  NcclGraph ring, tree, collnet_chain, collnet_direct, nvls;
  std::optional<RcclMatch> rccl;  ///< the source of ring and tree; empty: they were searched
};
NcclGraphs search_nccl_graphs(const NcclSystem& system, const NcclSettings& settings);

}  // namespace busbar::nccl
