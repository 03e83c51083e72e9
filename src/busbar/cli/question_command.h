// The command of a question: its flags from the fields of the request, its output from the result and its view.
#pragma once

#include <string>
#include <vector>

#include "busbar/cli/flags.h"
#include "busbar/questions/question.h"

namespace busbar {

/// The flags of all fields of `record`, which fill `request`.
std::vector<Flag> flags_of(const Record& record, void* request);

/// `typed`: the command line, for the head of a page.
Command question_command(const questions::Question& question, const std::string& typed);

}  // namespace busbar
