// The channels that NCCL finds inside one node: for each, the order of the GPUs and the network devices it enters and
// leaves by, with the bandwidth that all of them can have at once.
//
// Source: NVIDIA NCCL 2.30.7, src/graph/search.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "busbar/nccl/system.h"

namespace busbar {

/// Numbers as NCCL prints them.
enum class NcclPattern : std::uint8_t {
  kBalancedTree = 1,  ///< traffic to the network by the first two GPUs, half each
  kSplitTree = 2,     ///< to the parent by the first GPU, to children by the second
  kTree = 3,          ///< all by the first GPU
  kRing = 4,
  kNvls = 5,
  kCollnetDirect = 6,
};
const char* name_of(NcclPattern pattern);  ///< "balanced tree", ...

struct NcclGraph {
  NcclPattern pattern = NcclPattern::kRing;
  int cross_nic = 0;
  bool same_channels = true;
  bool collnet = false;  ///< only network devices that reduce
  std::uint32_t channels = 0, min_channels = 1, max_channels = 32;
  float intra_GBps = 0, inter_GBps = 0;  ///< of one channel
  float inter_latency_us = 0;
  PathType intra_type = PathType::kLoc, inter_type = PathType::kPix;
  int hops = 0;
  std::uint32_t gpus = 0;            ///< of the node
  std::vector<std::uint32_t> intra;  ///< channel-major: GPU at each place of the chain (heads only for NVLS)
  std::vector<std::uint32_t> inter;  ///< channel-major pairs: network device in, out; empty inside one node

  std::uint32_t gpu(std::uint32_t channel, std::uint32_t place) const { return intra[channel * gpus + place]; }
  std::uint32_t net(std::uint32_t channel, std::uint32_t side) const { return inter[channel * 2 + side]; }
};

/// The graph of one pattern; `wanted` gives pattern, channel limits and collnet. No channels: NCCL has no such graph
/// here (NVLS without a switch that can, CollNet without a network that can). The search is bounded by steps, not by
/// time, so that it ends the same everywhere.
NcclGraph search_nccl_graph(const NcclSystem& system, NcclGraph wanted, const NcclSettings& settings);

/// What RCCL knows of a node that it has rings ready for (src/graph/rome_models.cc).
struct RcclMatch {
  int number = 0;                ///< "model 81"
  std::uint32_t index = 0;       ///< in RCCL's table, as its log prints it
  int tuning = -1;               ///< which table of costs; -1: that of the GPU
  bool ll128 = false;            ///< LL128 is trusted
  bool rail_trees = false;       ///< channels of a tree come in pairs that swap their first two GPUs
  NcclGraph last, before_last;   ///< rings of these nodes where nodes are odd in number; no channels: as the others
};

/// All graphs that a communicator asks for.
struct NcclGraphs {
  NcclGraph ring, tree, collnet_chain, collnet_direct, nvls;
  std::optional<RcclMatch> rccl;  ///< ring and tree come from it; empty: they were searched for
};
NcclGraphs search_nccl_graphs(const NcclSystem& system, const NcclSettings& settings);

}  // namespace busbar
