// The distance of each switch of a network from the NICs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar::topology {

/// Per device: 1 for leaves and single switches, 2 for spines, 3 for cores with cables to spines (or to no core), 4 for
/// the cores above them, and so on; 0 for everything else. Failed cables count: they are still in place. The topology
/// need not be sealed.
std::vector<std::uint8_t> switch_tiers(const Topology& topology);

/// "leaf", "spine", "core", "tier 4", ...
std::string tier_name(std::uint8_t tier);

}  // namespace busbar::topology
