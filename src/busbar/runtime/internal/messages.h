// What becomes of the messages of a plan.
#pragma once

#include "busbar/collectives/execution_plan.h"

namespace busbar::runtime {

/// The same plan whose receivers read straight from where the sender has the data: a send only says that they may.
collectives::ExecutionPlan without_messages(collectives::ExecutionPlan plan);

/// The same plan whose messages between two threads take turns in `slots` places.
collectives::ExecutionPlan with_slots(collectives::ExecutionPlan plan, std::uint32_t slots);

}  // namespace busbar::runtime
