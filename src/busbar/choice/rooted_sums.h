// All-reduces that stand in for a broadcast or a reduce.
#pragma once

#include <optional>

#include "busbar/collectives/schedule.h"

namespace busbar::choice {

/// The all-reduce `sums` as a broadcast from `root` or a reduce to it (collectives/builders.h, for_root_alone). Empty
/// for a reduce of `sums` that use scratch, where ranks without an output keep what others have in theirs, or whose
/// first phase leaves out ranks, which rely on their input in the output.
std::optional<collectives::Schedule> rooted_sums(collectives::Schedule sums, collectives::Collective op,
                                                 std::uint32_t root);

}  // namespace busbar::choice
