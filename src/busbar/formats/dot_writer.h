// The machine as a graph for Graphviz, and its cables as a list.
#pragma once

#include <string>

#include "busbar/topology/topology.h"

namespace busbar {

/// Undirected, parallel links in one edge with their number. Blocks are clusters with their devices; above 2,000
/// devices each block is a single box.
std::string write_dot(const Topology& topology, const std::string& name);

/// One line per cable outside blocks (inside too where there is no fabric): both ends, kind, part, rate, latency. CSV
/// with a header, RFC 4180.
std::string write_cables_csv(const Topology& topology);

}  // namespace busbar
