// The run of a Program as a Timeline.
#pragma once

#include "busbar/engine/engine.h"
#include "busbar/step/causes.h"
#include "busbar/step/run_program.h"
#include "busbar/topology/topology.h"
#include "busbar/trace/timeline.h"

namespace busbar::step {

/// One track per role and stream, one span per operation, with its cause. With a topology also the link that limits
/// each collective, the loads of every link that carried data, and the courses of the busiest links (link_courses.h).
trace::Timeline step_timeline(const program::Program& program, const program::OpIndex& ids, const ProgramRun& run,
                              const Causes& causes, const engine::Engine& engine, const topology::Topology* topology);

}  // namespace busbar::step
