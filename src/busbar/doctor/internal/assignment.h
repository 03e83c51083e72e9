// Assignments of variables in commands and environments, and not in sentences about them.
#pragma once

#include <cstddef>
#include <string_view>

namespace busbar::doctor {

/// Whether "NAME=VALUE" at `at` of the line is a line of an environment, or a part of a command that sets it:
///   NAME=1    $ export NAME=1    A=2 NAME=1 ./x    mpirun -x NAME=1    --export=ALL,NAME=1    "Env": ["NAME=1"]
/// False in a comment, in parentheses, and after a word of a sentence ("try NAME=1").
bool is_assignment(std::string_view line, std::size_t at);

/// Whether "NAME=VALUE" at `at` is set for an mpirun on several hosts that passes it to none of them: Open MPI gives
/// its processes on other hosts only the variables that -x names.
///   NAME=1 mpirun -H n1,n2 ./x
bool stays_on_host(std::string_view line, std::size_t at);

}  // namespace busbar::doctor
