// The steps that an answer predicts: what they share with its caller.
#pragma once

#include "busbar/questions/context.h"
#include "busbar/step/train_run.h"

namespace busbar::questions {

/// Defaults, with what the caller lends: its wish that steps stop, machines that are ready, and who takes notices.
step::TrainAsk step_ask(const Context& context);

/// The step of a scenario; without a layout, if `open`, in one that plan_default() chooses.
Result<step::TrainRun> named_step(spec::Scenario scenario, const step::TrainAsk& ask, bool open,
                                  const Context& context);

}  // namespace busbar::questions
