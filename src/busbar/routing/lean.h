// Which way adaptive routing leans: away from links that have more to carry than those beside them.
#pragma once

#include <span>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar {

/// Per directed link how strongly it draws traffic beside its rate; empty: all alike.
using Lean = std::vector<float>;

/// `before` leaned further away from the busier of the network's links; `load_ps[l]`: how long link l takes to carry
/// what it was given (longer entries are ignored). Repeated, loads of links that may stand in for each other become
/// even.
Lean lean_away(const Topology& topology, Lean before, std::span<const double> load_ps);

}  // namespace busbar
