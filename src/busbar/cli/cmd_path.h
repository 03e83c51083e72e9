// busbar path: how one device reaches another, which link limits it, and what shares its links.
#pragma once

#include "busbar/cli/flags.h"

namespace busbar {

Command path_command(const std::string& typed);

}  // namespace busbar
