// Names for cables, as --degrade, --fail and `faults:` take them.
//
//   node5.nic2                    a device: all its cables         leaf3-spine1           all cables between two
//   switches node5.gpu3-node5.nvswitch0    the cables between two devices   node5.gpu3-nvswitch0   the second name in
//   the same node node5                         all cables that touch a node     node[0-3].nic?, leaf*  globs: * ?
//   [0-3] [abc]
#pragma once

#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/topology/topology.h"

namespace busbar {

/// Does `text` match the glob? Cost: O(text x pattern) at worst.
bool matches_glob(std::string_view pattern, std::string_view text);
/// A '*', '?' or '[' in it.
bool is_glob(std::string_view text);

/// The cables that `selector` names: one direction of each (the even LinkId), ascending. Error kNotFound, with the
/// nearest names, when it names none. Cost: O(devices + links) at worst, O(one node + fabric) for a literal node.
Result<std::vector<LinkId>> select_cables(const Topology& topology, std::string_view selector);

/// All cables of `selector` now have rate x `factor`; the factor must lie between 0 and 1, both excluded.
Status degrade_cables(TopologyBuilder& builder, std::string_view selector, double factor);
/// All cables of `selector` are gone.
Status fail_cables(TopologyBuilder& builder, std::string_view selector);

}  // namespace busbar
