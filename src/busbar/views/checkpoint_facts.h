// The cost of checkpoints, in lines for people.
#pragma once

#include <cstdint>

#include "busbar/report/document.h"
#include "busbar/survive/checkpoint_run.h"

namespace busbar {

/// Of one every `steps` steps.
Facts checkpoint_facts(const CheckpointRun& c, std::uint64_t steps, double step_s);

}  // namespace busbar
