// Makes one training step, as a Program, from model, layout and kernel times.
#pragma once

#include "busbar/base/result.h"
#include "busbar/program/program.h"
#include "busbar/workload/kernels.h"
#include "busbar/workload/layer_times.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar::workload {

/// One training step in steady state. It starts with the parameters' all-gather, at the same time as the first forward
/// pass, and ends with the optimizer. Roles are pipeline stages; each has the streams compute, tp, dp, pp.
/// Precondition: `layout` comes from resolve_layout().
/// Source: the order of operations is Megatron-LM's (core/pipeline_parallel/schedules.py, tensor_parallel/layers.py,
/// distributed/param_and_grad_buffer.py). Operations of a stage that are equal for every micro-batch are written once,
/// as a pass. Cost: about 20 operations per layer, and one use per chunk and micro-batch.
Result<program::Program> build_program(const ModelSpec& model, const LayoutSpec& layout, const KernelTable& kernels);

/// The same from given durations; tests use it for equal stages. `passes` off: every operation is written out.
program::Program build_program(const ModelSpec& model, const LayoutSpec& layout, const StepTimes& times,
                               const KernelTable& kernels, bool passes = true);

}  // namespace busbar::workload
