// The share of a collective's bytes that a set of its ranks must exchange with the others.
#pragma once

#include "busbar/collectives/schedule.h"

namespace busbar::floors {

/// Parts of S that must leave a set of ranks, and parts that must enter it.
struct Demand {
  double out = 0, in = 0;
};

/// The demand of `inside` of `n` ranks, all equivalent, whatever the schedule. Pre: 0 < inside < n. Nothing for
/// collectives with a root, pairs, and an all-to-all-v: theirs depend on more (internal/floor_demand.h).
Demand demand_across(collectives::Collective op, double inside, double n);

}  // namespace busbar::floors
