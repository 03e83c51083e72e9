// The machine as a graph for Graphviz.
#pragma once

#include <string>

#include "busbar/topology/topology.h"

namespace busbar::formats {

/// Undirected. Parallel links become one edge with their number. Blocks are clusters of their devices; above 2,000
/// devices each block is a single box.
std::string write_dot(const topology::Topology& topology, const std::string& name);

}  // namespace busbar::formats
