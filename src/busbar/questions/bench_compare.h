// The steps of a real run next to those of a simulated one.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/units.h"
#include "busbar/predict/predictor.h"
#include "busbar/questions/bench_question.h"
#include "busbar/runtime/session.h"

namespace busbar::questions {

/// What a step does, in words: "add from 2".
std::string step_words(const collectives::ExecutionPlan& plan, std::uint32_t step);

/// Simulates the plan that ran, message by message, on the machine, and returns the steps whose ends differ most from
/// those of the recorded run, largest first. Steps that move nothing from one rank to another have no simulated end.
/// Errors: those of engine::run_messages().
Result<std::vector<BenchStep>> compared_steps(const runtime::Executable& program, Bytes size,
                                              predict::Predictor& machine, const std::vector<runtime::StepTime>& times,
                                              std::size_t most);

}  // namespace busbar::questions
