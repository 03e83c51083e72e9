// Groups of ranks as text, for --ranks: "0:512:8", "0,1,4,5", "0:8+8x64".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/collectives/schedule.h"

namespace busbar::predict {

/// Each text is one group, or several of equal form: ranks separated by ',', each a number or START:STOP[:STEP] without
/// STOP itself; then any number of +SHIFTxTIMES, each of which repeats everything before it TIMES times, moved by SHIFT
/// more. All groups of all texts are one family, in order; one range with its shifts is affine.
/// Errors: kInvalid for other texts, groups of unequal sizes, a rank twice in one group, and ranks not below `ranks`.
Result<collectives::GroupFamily> parse_rank_groups(std::span<const std::string> texts, std::uint32_t ranks);

/// Texts from which parse_rank_groups() makes the same groups, member by member.
std::vector<std::string> rank_groups_text(const collectives::GroupFamily& groups);

}  // namespace busbar::predict
