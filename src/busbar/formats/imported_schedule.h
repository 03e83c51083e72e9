// The result of every reader of a foreign schedule: its steps, their purpose, and a proof that they are correct.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/collectives/execution_plan.h"
#include "busbar/program/message_graph.h"

namespace busbar {

struct ImportedSchedule {
  ExecutionPlan plan;
  std::string protocol;                        ///< "Simple", "LL", "LL128"
  std::uint64_t min_bytes = 0, max_bytes = 0;  ///< intended sizes; max 0: no limit
  PlanProof proof;
  std::vector<std::string> notes;
};

/// Messages that belong to no known collective, so that there is nothing to prove.
struct ImportedMessages {
  std::string name;
  MessageGraph graph;
  std::vector<std::string> notes;
};

}  // namespace busbar
