// A whole command line, from its words to its exit status.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/questions/context.h"
#include "busbar/questions/question.h"

namespace busbar {

/// Parses and runs one command; prints its result. `args`: without the program's name.
int run_command_line(const std::vector<std::string>& args);

/// What a line says that asks a question.
struct AskedLine {
  int status = 0;       ///< of the command; 2: it failed
  std::string message;  ///< what it says on standard error, without the last line break
  std::optional<questions::Answer> answer;
};
/// Answers a line, given as its words after "busbar", without printing, with RunFiles of its own. `context`: its
/// `notice` is not used. Pre: this thread has no RunFiles. Several threads may call it.
AskedLine ask_line(const std::vector<std::string>& words, questions::Context context);

/// See questions::Context::answer_line. Runs on a thread of its own.
questions::LineAnswer answer_line(const std::vector<std::string>& words);

/// The command line as a user would type it.
std::string typed_line(const std::vector<std::string>& args);

/// Error kInvalid at `where`, with the nearest name, if there is no such command.
Status check_command(const std::string& name, const Where& where);

}  // namespace busbar
