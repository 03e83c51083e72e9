// A checkpoint of a step in reports, and the flags that describe it.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/flags.h"
#include "busbar/report/document.h"
#include "busbar/survive/checkpoint_run.h"

namespace busbar {

std::vector<Flag> checkpoint_flags(CheckpointAsk& ask, const char* category);

/// The cost of a checkpoint every `steps` steps.
Facts checkpoint_facts(const CheckpointRun& c, std::uint64_t steps, double step_s);
Json checkpoint_json(const CheckpointRun& c, std::uint64_t steps, double step_s);

}  // namespace busbar
