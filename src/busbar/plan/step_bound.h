// Lower bounds of the time of a training step on the flow engine. Proof: docs/models/plan.md.
#pragma once

#include "busbar/plan/call_floors.h"
#include "busbar/workload/kernels.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar {

/// The step's own program, where each call takes its floor and no collective slows a kernel.
/// Result: never above the time of the same program on the flow engine. Errors: those of build_program().
/// Pre: a resolved layout.
Result<Duration> step_bound(const ModelSpec& model, const LayoutSpec& layout, const KernelTable& kernels,
                            CallFloors& floors);

}  // namespace busbar
