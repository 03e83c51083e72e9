// The inside of a block as an indented tree: sockets, what hangs below them on PCIe, and the scale-up links beside it.
#pragma once

#include <string>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar {

struct TreeLine {
  std::uint32_t depth = 0;
  DeviceId device{};
  LinkId up = kNone<LinkId>;  ///< the link to its parent; none for roots
  std::string extra;          ///< "18 NVLinks, 450 GB/s", "also: cpu1"; may be empty
};

/// Roots are the CPUs, then switches that no CPU owns, then what is left. Every device stands once, below the neighbour
/// fewest hops from a root (lowest number of equals); scale-up links make no parents. Cost: O(links of the block).
std::vector<TreeLine> block_tree(const Topology& topology, BlockId block);

}  // namespace busbar
