// The least time of a program whose collectives slow the kernels that run at the same time.
#pragma once

#include <span>

#include "busbar/base/units.h"
#include "busbar/program/program.h"
#include "busbar/workload/kernels.h"

namespace busbar::plan {

/// `calls`: the least time of each call of the program. Result: what no run of the program on an engine is below. Of
/// each stream, the kernels, what they certainly wait for, and the work that collectives of other streams take from
/// them (docs/models/plan.md). Cost: linear in the operations of passes, and in their uses.
Duration slowed_streams(const program::Program& program, std::span<const Duration> calls,
                        const workload::Contention& contention);

/// The share of compute that collectives of a purpose take, as a run counts it: in thousandths.
double counted_share(const workload::Contention& contention, program::OpClass purpose);

}  // namespace busbar::plan
