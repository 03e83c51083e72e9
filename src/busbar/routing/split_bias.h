// Splits of adaptive routing: away from links with more load than their neighbours.
#pragma once

#include <span>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar::routing {

/// Per directed link a factor on its rate when traffic is split over ways; empty: 1 for all. For adaptive routing only.
using SplitBias = std::vector<float>;
inline const SplitBias kEqualSplit{};
inline constexpr float kMostBias = 1e6F;  ///< the least is 1 / kMostBias

/// `before`, biased further away from the busier links of the network: each factor times (median load / load)^power, at
/// most 4^power up or down. `load[l]`: load / capacity of link l (entries beyond links are ignored). Repeated with a
/// power of a half, it evens the loads of links that can replace each other.
SplitBias bias_away(const topology::Topology& topology, SplitBias before, std::span<const double> load, double power);

}  // namespace busbar::routing
