// What becomes of the messages of a plan.
#pragma once

#include "busbar/base/result.h"
#include "busbar/collectives/execution_plan.h"

namespace busbar::runtime {

/// The same plan whose receivers read straight from where the sender has the data: a send only says that they may.
collectives::ExecutionPlan without_messages(collectives::ExecutionPlan plan);

/// The same plan whose senders write straight to where the receiver would only copy the message, if no other step
/// writes there. Then a message takes no slot, its sender waits for no answer, and the receiver copies nothing. Error:
/// the plan's operation does not fit its chunks.
Result<collectives::ExecutionPlan> with_puts(collectives::ExecutionPlan plan);

/// The same plan whose messages between two threads take turns in `slots` places.
collectives::ExecutionPlan with_slots(collectives::ExecutionPlan plan, std::uint32_t slots);

}  // namespace busbar::runtime
