// A whole command line, from its words to its exit status.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/questions/context.h"

namespace busbar {

/// Parses and runs one command; prints its result. `args`: without the program's name. Several threads may run it at
/// the same time, each with RunFiles and CapturedOutput of its own.
int run_command_line(const std::vector<std::string>& args);

/// See questions::Context::answer_line. Runs on a thread of its own, with RunFiles of its own.
questions::LineAnswer answer_line(const std::vector<std::string>& words);

/// The command line as a user would type it.
std::string typed_line(const std::vector<std::string>& args);

/// Error kInvalid at `where`, with the nearest name, if there is no such command.
Status check_command(const std::string& name, const Where& where);

}  // namespace busbar
