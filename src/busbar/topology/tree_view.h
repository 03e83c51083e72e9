// A block as an indented tree: sockets, the devices below them on PCIe, and scale-up links as notes.
#pragma once

#include <string>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar::topology {

struct TreeLine {
  std::uint32_t depth = 0;
  DeviceId device{};
  LinkId up = kNone<LinkId>;  ///< the link to its parent; none for roots
  std::string extra;          ///< "18 NVLinks, 450 GB/s", "also: cpu1"; may be empty
};

/// Roots are the CPUs, then switches without a CPU, then the remaining devices. Every device appears once, below the
/// neighbour with fewest hops to a root (lowest number among equals). Scale-up links make no parents. Cost: O(links of
/// the block).
std::vector<TreeLine> block_tree(const Topology& topology, BlockId block);

}  // namespace busbar::topology
