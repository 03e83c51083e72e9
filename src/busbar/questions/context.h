// What a caller lends to an answer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "busbar/base/context.h"
#include "busbar/base/json.h"
#include "busbar/base/result.h"

namespace busbar::step {
class KeptMachines;
}  // namespace busbar::step

namespace busbar::questions {

/// What a command line answers.
struct LineAnswer {
  int status = 0;       ///< of the command; 2: it failed
  Json json;            ///< as with --json, without `run`; null: it failed
  std::string message;  ///< what it says on standard error, without the last line break
};

struct Context : busbar::Context {
  step::KeptMachines* kept = nullptr;  ///< machines that are ready; null: none
  /// Answers a command line, given as its words after "busbar", without printing; its inputs are its own. For answers
  /// made of those of others (claims, sweep). Empty: the caller reads no command lines. Several threads may call it.
  std::function<LineAnswer(const std::vector<std::string>& words)> answer_line = {};
  /// Error kInvalid at `where`, with the nearest name, if no command has this name. Empty as answer_line.
  std::function<Status(const std::string& name, const Where& where)> check_command = {};
  /// Shows a text to a person and gives the line that this person types. Empty: there is none to ask.
  std::function<Result<std::string>(const std::string& text)> prompt = {};
};

}  // namespace busbar::questions
