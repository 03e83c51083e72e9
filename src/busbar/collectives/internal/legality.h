// What the builders refuse, in one voice.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "busbar/collectives/schedule.h"

namespace busbar {

/// Ranks and chunks are 32-bit ids and chunk counts grow with the ranks: far above any machine, far below 2^32.
inline constexpr std::uint32_t kMaxRanks = 1u << 26;

Error too_many_ranks(std::uint64_t ranks);

/// 1 <= ranks < kMaxRanks and root < ranks.
Status check_ranks(std::uint32_t ranks, std::uint32_t root);

/// kUnsupported: `algorithm` has no schedule for `op`; names those that have one.
Error not_built(std::string_view algorithm, Collective op);

/// Whether `tree`, called by its `number`, has each of `ranks` positions once and parents before their children.
Status check_tree(const GivenTree& tree, std::uint32_t ranks, std::size_t number);

/// {"ring", "tree"} of "hierarchical(ring,tree)"; empty of a plain name. Error: what is missing in one like it.
Result<std::vector<std::string_view>> arguments_of(std::string_view algorithm);

}  // namespace busbar
