// busbar man, busbar completion: pages generated from the table of flags.
#pragma once

#include <string>
#include <vector>

#include "busbar/cli/flags.h"

namespace busbar {

/// `commands` is the table that the pages describe. It must outlive the command and may still grow.
Command man_command(const std::vector<Command>& commands, const std::string& version);
Command completion_command(const std::vector<Command>& commands);

}  // namespace busbar
