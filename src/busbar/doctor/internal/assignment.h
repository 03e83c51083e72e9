// Assignments of variables in commands and environments, and not in sentences about them.
#pragma once

#include <cstddef>
#include <string_view>

namespace busbar {

/// Whether "NAME=VALUE" at `at` of the line is a line of an environment, or a part of a command that sets it:
///   NAME=1    $ export NAME=1    A=2 NAME=1 ./x    mpirun -x NAME=1    --export=ALL,NAME=1    "Env": ["NAME=1"]
/// False in a comment, in parentheses, and after a word of a sentence ("try NAME=1").
bool is_assignment(std::string_view line, std::size_t at);

}  // namespace busbar
