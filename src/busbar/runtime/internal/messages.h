// What becomes of the messages of a plan.
#pragma once

#include "busbar/collectives/execution_plan.h"

namespace busbar::runtime {

/// The same plan whose receivers read straight from where the sender has the data: a send only says that they may.
ExecutionPlan without_messages(ExecutionPlan plan);

/// The same plan whose messages between two threads take turns in `slots` places.
ExecutionPlan with_slots(ExecutionPlan plan, std::uint32_t slots);

}  // namespace busbar::runtime
