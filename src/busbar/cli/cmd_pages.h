// busbar man, busbar completion: what is made from the table of flags itself.
#pragma once

#include <string>
#include <vector>

#include "busbar/cli/flags.h"

namespace busbar {

/// `commands` is the table they write about; it must outlive them and may still grow.
Command man_command(const std::vector<Command>& commands, const std::string& version);
Command completion_command(const std::vector<Command>& commands);

}  // namespace busbar
