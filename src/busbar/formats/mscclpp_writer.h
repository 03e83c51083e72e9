// Execution plans of MSCCL++ (JSON) from plans of ours. Source of the format and of its limits: Microsoft mscclpp,
// src/core/executor/execution_plan.cc and src/core/include/execution_common.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/collectives/execution_plan.h"

namespace busbar::formats {

struct MscclppOutput {
  std::uint64_t min_bytes = 0, max_bytes = 0;  ///< intended sizes; max 0: no limit
  std::vector<std::uint32_t> node;  ///< per rank: ranks of one node use memory channels, others port channels
};

/// The same moves as a plan, read back and proved. A message goes to a place of its own in the scratch
/// buffer of its receiver. The thread blocks of a rank are its channels, cut at MSCCL++'s limits; a thread block runs
/// its steps in an order that the whole plan allows.
/// kUnsupported: collectives and steps that MSCCL++ lacks, and plans beyond its limits (64 operations and 16 channels
/// per thread block, 16 semaphores per GPU).
Result<Json> write_mscclpp_plan(const collectives::ExecutionPlan& plan, const MscclppOutput& options);

}  // namespace busbar::formats
