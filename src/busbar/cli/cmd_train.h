#pragma once

#include <string>

#include "busbar/cli/flags.h"

namespace busbar {

/// `busbar train SCENARIO`: one training step, the parts of its time and its limits.
Command train_command(const std::string& typed);

}  // namespace busbar
