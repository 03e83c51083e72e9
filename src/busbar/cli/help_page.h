// What --help prints.
#pragma once

#include <string>
#include <vector>

#include "busbar/lines/flags.h"

namespace busbar::cli {

std::string help_page(const lines::Command& command);
/// Help of `busbar` itself: its commands.
std::string help_overview(const std::vector<lines::Command>& commands);

}  // namespace busbar::cli
