// busbar import: identifies a file of another program and shows its content.
#pragma once

#include "busbar/cli/flags.h"

namespace busbar {

Command import_command(const std::string& typed);

}  // namespace busbar
