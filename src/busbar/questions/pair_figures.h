// What each pair of GPUs of a node has while all others are silent, as p2pBandwidthLatencyTest measures it: pairs
// without NVLink of their own copy through host memory, because no GPU passes data on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/base/result.h"
#include "busbar/spec/cluster.h"

namespace busbar::questions {

constexpr std::size_t kMostInPairs = 256;  ///< devices of a node whose pairs are shown

struct PairFigures {
  std::vector<std::string> names;  ///< of the node's GPUs: "gpu0"
  /// By sender and receiver; 0 for a GPU to itself.
  std::vector<std::vector<double>> payload_GBps;  ///< 1e9 bytes/s in one direction
  std::vector<std::vector<double>> both_GBps;     ///< both directions at the same time, their sum
  /// The same with P2P off: all pairs copy through host memory. Empty where not all reach the same memories.
  std::vector<std::vector<double>> staged_GBps, staged_both_GBps;
  std::vector<std::vector<double>> latency_us;  ///< first bit in to first bit out, without software
  /// Of a copy with P2P off, with the software that copies in two steps. Empty where that is not known.
  std::vector<std::vector<double>> staged_latency_us;
};
/// Errors: no path between two GPUs, or more than kMostInPairs of them.
Result<PairFigures> pair_figures(const spec::Cluster& cluster, topology::BlockId block);

/// Links crossed from each GPU and NIC of a node to each other one, GPUs first; 0 to itself, nothing where no path is.
struct HopCounts {
  std::vector<std::string> names;
  std::vector<std::vector<std::optional<std::size_t>>> hops;
};
/// Errors: more than kMostInPairs devices.
Result<HopCounts> hop_counts(const spec::Cluster& cluster, topology::BlockId block);

const Record& record_of(const PairFigures*);
const Record& record_of(const HopCounts*);

}  // namespace busbar::questions
