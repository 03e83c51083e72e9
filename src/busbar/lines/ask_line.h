// Command lines as questions, without printing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/lines/flags.h"
#include "busbar/questions/context.h"
#include "busbar/questions/question.h"

namespace busbar::lines {

/// What a line says that asks a question.
struct AskedLine {
  int status = 0;       ///< of the command; 2: it failed
  std::string message;  ///< what it says on standard error, without the last line break
  std::optional<questions::Answer> answer;
};
/// Answers a line, given as its words after "busbar", with RunFiles of its own. `context`: its `notice` is not used.
/// Pre: this thread has no RunFiles. Several threads may call it.
AskedLine ask_line(const std::vector<std::string>& words, questions::Context context);

/// Lets answers that are made of those of lines (claims, sweep) ask them; they end by the `stop` that `context` has.
void let_answer_lines(questions::Context& context);

/// Error for a folder that is no catalogue, which would else silently give answers from other product data.
Status check_catalog(const Command& command);

/// A command line as a user would type it.
std::string typed_line(const std::vector<std::string>& words);

}  // namespace busbar::lines
