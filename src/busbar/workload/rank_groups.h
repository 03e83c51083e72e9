// Which ranks talk to which: families of groups in Megatron's rank order, rank = tp + TP x (dp + DP x pp).
#pragma once

#include <cstdint>

#include "busbar/program/program.h"
#include "busbar/workload/layout.h"

namespace busbar {

GroupFamily stage_ranks(const LayoutSpec& l, std::uint32_t stage);  ///< one group with all ranks of the stage
GroupFamily tp_groups(const LayoutSpec& l, std::uint32_t stage);    ///< DP groups of TP neighbours
GroupFamily dp_groups(const LayoutSpec& l, std::uint32_t stage);    ///< TP groups of DP ranks
/// Pairs of equal ranks of two stages; member 0 is on `from`. Ranks add modulo 2^32, so the stride may lead downwards.
GroupFamily stage_pairs(const LayoutSpec& l, std::uint32_t from, std::uint32_t to);

/// A call over `groups` whose algorithm is left to be chosen.
CollectiveCall auto_call(Collective op, std::uint64_t bytes, GroupFamily groups);

}  // namespace busbar
