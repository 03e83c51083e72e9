// Execution plans of MSCCL++ (JSON). Source of the format: Microsoft mscclpp, src/core/executor/execution_plan.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/collectives/execution_plan.h"
#include "busbar/formats/imported.h"

namespace busbar::formats {

struct MscclppPlan {
  collectives::ExecutionPlan plan;
  std::string protocol;
  std::uint64_t min_bytes = 0, max_bytes = 0;  ///< intended sizes; max 0: no limit
  std::uint32_t parts = 1;  ///< per chunk: if thread blocks share a step, or if steps go through a chunk in a loop
  std::vector<std::string> notes;
  std::vector<UnknownPart> unknown;
};

/// Signals match waits in order, channel by channel; a reader of packets waits for their writer. A pipeline goes
/// through its chunks in two rounds. Errors give the path in the file.
Result<MscclppPlan> read_mscclpp_plan(std::string_view text, const std::string& name);

bool looks_like_mscclpp_plan(std::string_view head);

}  // namespace busbar::formats
