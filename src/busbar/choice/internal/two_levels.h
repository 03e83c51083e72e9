// Schedules for equal nodes: trees made for the inside of a node, textbook rings, halving or trees between nodes.
#pragma once

#include <vector>

#include "busbar/choice/synthesis.h"

namespace busbar::choice {

/// Candidates over `nodes`, each with its ranks in the order of their places. all_gather, reduce_scatter and
/// all_reduce: trees from all ranks of a node; rings, halving or PAT between the ranks of a place; ranks must be
/// numbered node by node. broadcast and reduce: in the root's node trees from the root; the double tree between the
/// ranks of a place; in every other node trees from the rank that receives. Empty for other collectives, for nodes of
/// unequal sizes, and if routing would take longer than a second.
Result<std::vector<Synthesized>> two_levels(const routing::Router& router, const routing::Placement& placement,
                                            const program::CollectiveCall& call,
                                            const std::vector<std::vector<std::uint32_t>>& nodes,
                                            const Shortcuts& shortcuts);

}  // namespace busbar::choice
