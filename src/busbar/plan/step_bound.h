// Lower bounds of the time of a training step on the flow engine. Proof: docs/models/plan.md.
#pragma once

#include "busbar/plan/call_floors.h"
#include "busbar/workload/kernels.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar::plan {

/// The step's own program, where each call takes its floor and no collective slows a kernel.
/// Result: never above the time of the same program on the flow engine. Errors: those of build_program().
/// Pre: a resolved layout.
Result<Duration> step_bound(const workload::ModelSpec& model, const workload::LayoutSpec& layout,
                            const workload::KernelTable& kernels, CallFloors& floors);

/// The same with the closed form of each call as the machine's library runs it, which costs its routing. Not below the
/// other one. Pre: has_closed_bounds(). Errors: also those of Predictor::prepare().
Result<Duration> closed_step_bound(const workload::ModelSpec& model, const workload::LayoutSpec& layout,
                                   const workload::KernelTable& kernels, predict::Predictor& machine);

/// Not where adaptive routes avoid the traffic of other calls: then a call next to others loads other links than alone.
bool has_closed_bounds(const predict::Predictor& machine);

}  // namespace busbar::plan
