// The run of a Program as a Timeline.
#pragma once

#include "busbar/engine/engine.h"
#include "busbar/step/causes.h"
#include "busbar/step/run_program.h"
#include "busbar/topology/topology.h"
#include "busbar/trace/timeline.h"

namespace busbar {

/// One track per role and stream, one span per operation, with its cause; with a topology also which link bounds each
/// collective, the load of every link that carried something, and the courses of the busiest ones (link_courses.h).
Timeline step_timeline(const Program& program, const OpIndex& ids, const ProgramRun& run, const Causes& causes,
                       const Engine& engine, const Topology* topology);

}  // namespace busbar
