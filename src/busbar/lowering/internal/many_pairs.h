// Phases in which every pair exchanges the same, over so many pairs that they are not fluids each.
//
// Fluids of equal bytes that start together: those on the link with the largest load / rate are the slowest from the
// first byte to the last, for no slower fluid exists whose end would free capacity. So the phase ends after that
// load / rate, or after the longest time of one alone. That does not change when pairs that exchange the same are one
// fluid, whichever pairs those are: one fluid per group takes the same time alone and puts the same loads on links.
#pragma once

#include "busbar/lowering/internal/run_router.h"
#include "busbar/routing/pair_spread.h"

namespace busbar::lowering {

/// Whether step `step` is made of exchanges of equal pieces alone, and of more pairs than are kept apart.
bool has_many_pairs(const PlacedMachine& machine, const PlannedCall& plan, std::size_t step);

/// What lowers pairs together.
struct PairTools {
  const PlacedMachine& machine;
  routing::PairSpread& spread;
  RunRouter& router;
  RunTimes& times;
  StageBuilder& builder;
};

/// Adds one fluid to the stage that is being built. `run` is work space. Pre: has_many_pairs() of its step.
/// Errors: those of RunRouter::connect(), and kUnsupported for too many routes that are not alike.
Status lower_pairs_together(const PairTools& tools, const PlannedCall& plan, const GroupRun& of, OpenRun& run);

}  // namespace busbar::lowering
