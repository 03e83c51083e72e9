// The machine as a graph for Graphviz.
#pragma once

#include <string>

#include "busbar/topology/topology.h"

namespace busbar {

/// Undirected, parallel links in one edge with their number. Blocks are clusters with their devices; above 2,000
/// devices each block is a single box.
std::string write_dot(const Topology& topology, const std::string& name);

}  // namespace busbar
