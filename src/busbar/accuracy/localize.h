// Finds the slow part from measurements of subsets of a machine: pairs of GPUs, nodes, rails.
//
// A measurement that is slower than its like crosses the faulty part; one that is not does not cross it.
#pragma once

#include <string>
#include <vector>

#include "busbar/accuracy/suspects.h"

namespace busbar::accuracy {

/// One measurement of some GPUs of the machine.
struct SubsetTime {
  std::string name;                 ///< "node 2", "rail 5", "gpu 0 to gpu 9"
  std::string kind;                 ///< measurements of one kind are compared: "node", "rail", "pair", "gpu pair"
  std::vector<std::uint32_t> gpus;  ///< global numbers, ascending for sets; sender and receiver for a pair of GPUs
  double us_per_byte = 0;
  std::string file{};
  int line = 0;
  // Filled by localize():
  double slower_percent = 0;  ///< than the best quarter of those alike
  bool slow = false;
};

/// Reads a file of results, by its content and name:
/// - a table of nccl-tests or a CSV with size_bytes and time_us in a file called node-2, rail-5 or pair-0-3, with any
///   other words around: node 2 alone, GPU 5 of every node, nodes 0 and 3; its largest size counts
/// - a CSV with the columns busbw_GBps or GBps (or time_us and size_bytes) and node; rail; node_a and node_b; or src
/// and
///   dst (numbers of GPUs)
/// - the matrix of p2pBandwidthLatencyTest or nvbandwidth: GPUs of node 0; the first matrix of GB/s counts
/// Errors with file and line: kInvalid, kNotFound.
Result<std::vector<SubsetTime>> read_subset_times(const std::string& file, const topology::Topology& topology);

/// A part, or several that these measurements cannot tell apart.
struct LocatedPart {
  std::vector<std::string> parts{};  ///< as --degrade takes them: whole devices before their cables
  std::string rule, words;           ///< of the first
  std::size_t wrong = 0;             ///< measurements that speak against it
  double confidence = 0;             ///< share of the likelihood, one in twenty measurements misleading
};

struct Localization {
  std::vector<SubsetTime> times;
  std::vector<LocatedPart> found;  ///< most likely first; empty: nothing stands out
  bool named = false;              ///< the first has at least 80 % of the likelihood
};

/// Slow: `threshold_percent` above the best quarter of the measurements of its kind whose GPUs are equally far apart.
Result<Localization> localize(std::vector<SubsetTime> times, const spec::Cluster& cluster,
                              double threshold_percent = 15);

}  // namespace busbar::accuracy
