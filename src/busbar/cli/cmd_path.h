// busbar path: how one device reaches another, what binds it and who shares it.
#pragma once

#include "busbar/cli/flags.h"

namespace busbar {

Command path_command(const std::string& typed);

}  // namespace busbar
