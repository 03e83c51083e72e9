// The commands of `busbar`, a file cmd_NAME.cc each. `typed`: the command line, for the head of a page.
#pragma once

#include <string>
#include <vector>

#include "busbar/lines/flags.h"

namespace busbar {

Command explore_command(const std::string& typed);

/// `commands` is the table that the pages describe. It must outlive the command and may still grow.
Command man_command(const std::vector<Command>& commands, const std::string& version);
Command completion_command(const std::vector<Command>& commands);

}  // namespace busbar
