// How fast two GPUs copy to each other while everything else is silent, as p2pBandwidthLatencyTest measures it.
#pragma once

#include "busbar/routing/path_view.h"

namespace busbar::routing {

/// Payload in 1e9 bytes/s.
struct PairCopy {
  double one_way_GBps = 0;
  double both_ways_GBps = 0;  ///< the sum of both directions at the same time
};

/// A copy through host memory is cut in pieces that are written and then read. This is the share of the
/// narrower of its PCIe paths that remains, for both directions together. Source: data/measured/p2p.csv, 22 of 26 GB/s
/// (RTX 4090), 37 of 55 (H100), 5.7 of 12.8 (RTX 2080 Ti); both directions at once move no more than one.
inline constexpr double kStagedShare = 0.65;

/// `there` and `back`: the paths between two GPUs of one node. Two directions share no link, except through host
/// memory.
PairCopy pair_copy(const topology::Topology& topology, const PathView& there, const PathView& back);

}  // namespace busbar::routing
