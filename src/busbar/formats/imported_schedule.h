// What every reader of a foreign schedule gives: the steps, what they are meant for, and that they are right.
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
  std::uint64_t min_bytes = 0, max_bytes = 0;  ///< sizes it is meant for; max 0: no limit
  PlanProof proof;
  std::vector<std::string> notes;
};

/// Messages that belong to no collective we know, so that there is nothing to prove.
struct ImportedMessages {
  std::string name;
  MessageGraph graph;
  std::vector<std::string> notes;
};

}  // namespace busbar
