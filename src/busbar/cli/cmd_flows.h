// busbar flows CLUSTER FLOWS.csv
#pragma once

#include <string>

#include "busbar/cli/flags.h"

namespace busbar {

Command flows_command(const std::string& typed);

}  // namespace busbar
