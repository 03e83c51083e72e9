// A whole command line, from its words to its exit status.
#pragma once

#include <string>
#include <vector>

namespace busbar::cli {

/// Parses and runs one command; prints its result. `args`: without the program's name.
int run_command_line(const std::vector<std::string>& args);

}  // namespace busbar::cli
