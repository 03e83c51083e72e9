// Execution plans of MSCCL++ (JSON). Source of the format: Microsoft mscclpp, src/core/executor/execution_plan.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/collectives/execution_plan.h"
#include "busbar/formats/imported.h"

namespace busbar {

struct MscclppPlan {
  ExecutionPlan plan;
  std::string protocol;
  std::uint64_t min_bytes = 0, max_bytes = 0;  ///< sizes it is meant for; max 0: no limit
  std::uint32_t parts = 1;  ///< of each chunk: where thread blocks share a step, or steps go through a chunk in a loop
  std::vector<std::string> notes;
  std::vector<UnknownPart> unknown;
};

/// Signals meet waits in order, channel by channel; readers of packets wait for whoever wrote them. A pipeline goes
/// through its chunks in two rounds. Errors carry the path in the file.
Result<MscclppPlan> read_mscclpp_plan(std::string_view text, const std::string& name);

bool looks_like_mscclpp_plan(std::string_view head);

}  // namespace busbar
