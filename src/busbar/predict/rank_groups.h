// Groups of ranks as text, for --ranks: "0:512:8", "0,1,4,5", "0:8+8x64".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/collectives/schedule.h"

namespace busbar {

/// Each text is one group, or several of equal form: ranks joined by ',', each a number or START:STOP[:STEP] without
/// STOP itself, and then any number of +SHIFTxTIMES, which repeat all so far, each moved by SHIFT more. All groups of
/// all texts are one family, in that order; one range with its shifts is affine.
/// Errors: kInvalid for other texts, groups of unlike sizes, a rank twice in one group, and ranks not below `ranks`.
Result<GroupFamily> parse_rank_groups(std::span<const std::string> texts, std::uint32_t ranks);

/// Texts that parse_rank_groups() makes the same groups of, member by member.
std::vector<std::string> rank_groups_text(const GroupFamily& groups);

}  // namespace busbar
