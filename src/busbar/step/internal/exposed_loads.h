// The load of links while compute waits for collectives.
#pragma once

#include <vector>

#include "busbar/engine/engine.h"
#include "busbar/step/run_program.h"
#include "busbar/topology/topology.h"
#include "busbar/trace/timeline.h"

namespace busbar::step {

/// Fills LinkLoad::while_exposed. The bytes of a call are spread evenly over its run; those of Span::exposed count.
/// Each role counts by itself, against the exposed time of the role that waits longest; a link shows its busiest role.
/// `calls`: per span of the timeline; kNone: no collective. Pre: Timeline::links and Span::exposed are set.
void add_exposed_loads(const topology::Topology& topology, const engine::Engine& engine, const ProgramRun& run,
                       const std::vector<program::CallId>& calls, trace::Timeline& timeline);

}  // namespace busbar::step
