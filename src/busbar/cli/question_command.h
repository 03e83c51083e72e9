// The command of a question: its line, its output from the result and its view.
#pragma once

#include <string>

#include "busbar/lines/flags.h"
#include "busbar/questions/question.h"

namespace busbar::cli {

/// `typed`: the command line, for the head of a page.
lines::Command question_command(const questions::Question& question, const std::string& typed);

}  // namespace busbar::cli
