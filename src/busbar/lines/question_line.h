// A question as a command: its flags and words from the fields of its request.
#pragma once

#include <memory>

#include "busbar/lines/flags.h"
#include "busbar/lines/output_options.h"
#include "busbar/questions/question.h"

namespace busbar::lines {

/// All but how it runs. Its flags fill `output` and a request of its own, which `answer` asks.
Command question_line(const questions::Question& question, std::shared_ptr<OutputOptions> output);

}  // namespace busbar::lines
