// Fits figures of single links to tests of such links: part of `busbar calibrate`.
#pragma once

#include <string>
#include <vector>

#include "busbar/accuracy/link_tests.h"
#include "busbar/spec/cluster.h"

namespace busbar::accuracy {

/// Measurements of one figure or one call that are farther apart contradict each other.
inline constexpr double kMostApart = 1.25;
/// Below this share of its rate a link, or a machine, is broken.
inline constexpr double kBrokenRate = 0.6;

/// A figure of the cluster file that tests of links say.
struct FittedFigure {
  std::string what;               ///< "rate of nvlink between GPUs"
  std::vector<std::string> keys;  ///< of the cluster file: "node.links[0].efficiency"
  std::string unit;               ///< of before and after: "GB/s", "us", ""
  double before = 0, after = 0;
  std::string source;  ///< file, lines, and date where it is known
};

struct LinkFit {
  std::vector<std::string> set;  ///< as --set takes them, each figure with its source
  std::vector<FittedFigure> figures;
  std::vector<CalibratedTable> tables;      ///< one per test
  std::vector<std::string> contradictions;  ///< between tests, and between pairs of GPUs
  std::string broken;                       ///< why it is the test of a broken machine; empty: it is not
};

/// Each figure is the median of what the tests of it say, on the machine as its file describes it.
///  - rates between GPUs: the efficiency of all links that limit a pair, by kind of link
///  - rates of a NIC: the efficiency of the cables of the fabric
///  - rates between memories of GPUs below the network's: the efficiency of the PCIe links of NICs
///  - latencies of a NIC: what is left for the two NICs after slots, switches and cables
///  - latencies of copies through host memory: `protocol.staged_copy`
///  - both directions of such copies, if the machine has no other: `protocol.staged_both_ways`
/// Not used, and named: tests of more GPUs than a node has, figures faster than the wire, and tests of what is no
/// figure.
Result<LinkFit> fit_links(const std::vector<LinkTest>& tests, const std::string& cluster,
                          const spec::Overrides& overrides);

}  // namespace busbar::accuracy
