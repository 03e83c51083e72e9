// busbar topo: the machine as counts, tiers, matrix, tree, drawing and files.
#pragma once

#include "busbar/cli/flags.h"

namespace busbar {

Command topo_command(const std::string& typed);

}  // namespace busbar
