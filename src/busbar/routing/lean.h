// Which way adaptive routing leans: away from links that have more to carry than those beside them.
#pragma once

#include <span>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar {

/// Per directed link how strongly it draws traffic beside its rate; empty: all alike.
using Lean = std::vector<float>;
inline constexpr float kMostLean = 1e6F;  ///< and one over it the least

/// `before` leaned further away from the busier of the network's links: each lean times (median load / load)^power, at
/// most 4^power either way. `load[l]`: what link l was given / what it can carry (entries beyond links are ignored).
/// Repeated with a power of a half, loads of links that may stand in for each other become even.
Lean lean_away(const Topology& topology, Lean before, std::span<const double> load, double power);

}  // namespace busbar
