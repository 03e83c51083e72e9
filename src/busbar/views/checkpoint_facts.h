// The cost of checkpoints, in lines for people.
#pragma once

#include <cstdint>

#include "busbar/report/document.h"
#include "busbar/survive/checkpoint_run.h"

namespace busbar::views {

/// Of one every `steps` steps.
report::Facts checkpoint_facts(const survive::CheckpointRun& c, std::uint64_t steps, double step_s);

}  // namespace busbar::views
