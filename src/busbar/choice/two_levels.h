// Schedules for equal nodes: trees made for what is inside one, textbook rings, halves or trees between them.
#pragma once

#include <vector>

#include "busbar/choice/synthesis.h"

namespace busbar {

/// Candidates over `nodes`, the ranks of each in the order of their places. all_gather, reduce_scatter and all_reduce:
/// trees from all ranks of a node, rings, halves or PAT between the ranks of a place; ranks must follow each other node
/// by node. broadcast and reduce: in the root's node trees from the root, between the ranks of a place the double tree,
/// in every other node trees from the rank that receives. Nothing for other collectives, nodes of unequal sizes, or
/// where routing them takes longer than a second.
Result<std::vector<Synthesized>> two_levels(const Router& router, const Placement& placement,
                                            const CollectiveCall& call,
                                            const std::vector<std::vector<std::uint32_t>>& nodes);

}  // namespace busbar
