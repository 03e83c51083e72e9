// The result of every reader of a foreign schedule: its steps, their purpose, and a proof that they are correct.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/collectives/execution_plan.h"
#include "busbar/program/message_graph.h"
#include "busbar/program/program.h"

namespace busbar::formats {

struct ImportedSchedule {
  collectives::ExecutionPlan plan;
  std::string protocol;                        ///< "Simple", "LL", "LL128"
  std::uint64_t min_bytes = 0, max_bytes = 0;  ///< intended sizes; max 0: no limit
  std::uint32_t loops = 0;                     ///< of max_bytes, as it was timed; 0: the file does not say
  collectives::PlanProof proof;
  std::vector<std::string> notes;
};

/// Messages that belong to no known collective, so that there is nothing to prove.
struct ImportedMessages {
  std::string name;
  program::MessageGraph graph;
  program::CollectiveCall call{};  ///< of which these are the messages; no algorithm: unknown
  std::vector<std::string> notes;
};

}  // namespace busbar::formats
