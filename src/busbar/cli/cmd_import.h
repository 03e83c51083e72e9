// busbar import: what a file of another program is, and what it holds.
#pragma once

#include "busbar/cli/flags.h"

namespace busbar {

Command import_command(const std::string& typed);

}  // namespace busbar
