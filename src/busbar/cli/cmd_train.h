#pragma once

#include <string>

#include "busbar/cli/flags.h"

namespace busbar {

/// `busbar train SCENARIO`: one training step, where its time goes and what bounds it.
Command train_command(const std::string& typed);

}  // namespace busbar
