// What --help prints.
#pragma once

#include <string>
#include <vector>

#include "busbar/lines/flags.h"

namespace busbar {

std::string help_page(const Command& command);
/// Help of `busbar` itself: its commands.
std::string help_overview(const std::vector<Command>& commands);

}  // namespace busbar
