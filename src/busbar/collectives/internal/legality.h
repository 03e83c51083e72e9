// Checks and errors that the builders share.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "busbar/collectives/schedule.h"

namespace busbar::collectives {

/// Ranks and chunks are 32-bit ids, and chunk counts grow with the ranks. Above any machine, far below 2^32.
inline constexpr std::uint32_t kMaxRanks = 1u << 26;

Error too_many_ranks(std::uint64_t ranks);

/// 1 <= ranks < kMaxRanks and root < ranks.
Status check_ranks(std::uint32_t ranks, std::uint32_t root);

/// kUnsupported: `algorithm` has no schedule for `op`. The message names the algorithms that have one.
Error not_built(std::string_view algorithm, Collective op);

/// Checks that `tree` has each of `ranks` positions once, parents before children. `number` names it in the error.
Status check_tree(const GivenTree& tree, std::uint32_t ranks, std::size_t number);

/// {"ring", "tree"} of "hierarchical(ring,tree)"; empty for a plain name. Error: what is malformed.
Result<std::vector<std::string_view>> arguments_of(std::string_view algorithm);

}  // namespace busbar::collectives
