// The commands of `busbar`, a file cmd_NAME.cc each. `typed`: the command line, for the head of a page.
#pragma once

#include <string>
#include <vector>

#include "busbar/lines/flags.h"

namespace busbar::cli {

lines::Command explore_command(const std::string& typed);

/// `commands` is the table that the pages describe. It must outlive the command and may still grow.
lines::Command man_command(const std::vector<lines::Command>& commands, const std::string& version);
lines::Command completion_command(const std::vector<lines::Command>& commands);

}  // namespace busbar::cli
