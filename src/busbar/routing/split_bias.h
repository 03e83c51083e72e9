// How adaptive routing splits traffic: away from links that have more to carry than those next to them.
#pragma once

#include <span>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar {

/// Per directed link a factor on its rate when traffic is split over ways; empty: 1 for all. Routing policies other
/// than adaptive ignore it.
using SplitBias = std::vector<float>;
inline const SplitBias kEqualSplit{};
inline constexpr float kMostBias = 1e6F;  ///< the least is one over it

/// `before` biased further away from the busier links of the network: each factor times (median load / load)^power, at
/// most 4^power either way. `load[l]`: what link l was given / what it can carry (entries beyond links are ignored).
/// Repeated with a power of a half, loads of links that can replace each other become even.
SplitBias bias_away(const Topology& topology, SplitBias before, std::span<const double> load, double power);

}  // namespace busbar
