// Selectors: names of cables, as --degrade, --fail and `faults:` take them.
//
// - node5.nic2: all cables of a device
// - leaf3-spine1: all cables between two switches
// - node5.gpu3-node5.nvswitch0: the cables between two devices
// - node5.gpu3-nvswitch0: the same; the second name is in the same node
// - node5: all cables of the devices of a node
// - node[0-3].nic?, leaf*: globs with * ? [0-3] [abc]
#pragma once

#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/topology/topology.h"

namespace busbar::topology {

/// Whether `text` matches the glob. Cost: O(text x pattern) at worst.
bool matches_glob(std::string_view pattern, std::string_view text);
/// Whether it contains '*', '?' or '['.
bool is_glob(std::string_view text);

/// The cables that `selector` names: one direction of each (the even LinkId), ascending. Error kNotFound, with the
/// nearest names, if it names none. Cost: O(devices + links) at worst, O(one node + fabric) for a literal node.
Result<std::vector<LinkId>> select_cables(const Topology& topology, std::string_view selector);

/// Sets the rate of all cables of `selector` to rate x `factor`, 0 < factor < 1.
Status degrade_cables(TopologyBuilder& builder, std::string_view selector, double factor);
/// Removes all cables of `selector`.
Status fail_cables(TopologyBuilder& builder, std::string_view selector);

}  // namespace busbar::topology
