// Damage that software sees: a port or slot that trained down, and says so. Damage is hidden by default: symbol errors,
// a throttled slot, pauses.
#pragma once

#include <string_view>

#include "busbar/topology/topology.h"

namespace busbar::topology {

/// Ends Damage::name, as --degrade takes it: "node5.nic2:seen".
inline constexpr std::string_view kSeen = ":seen";

bool is_seen(const Damage& damage);
/// The share of the link's rate as built that software reads, in (0, 1].
double seen_share(const Topology& topology, LinkId link);

}  // namespace busbar::topology
