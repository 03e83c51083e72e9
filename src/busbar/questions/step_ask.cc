#include "busbar/questions/step_ask.h"

#include <utility>

#include "busbar/plan/default_plan.h"

namespace busbar::questions {

step::TrainAsk step_ask(const Context& context) {
  step::TrainAsk ask;
  ask.stop = context.stop;
  ask.kept = context.kept;
  ask.notice = context.notice;
  return ask;
}

Result<step::TrainRun> named_step(spec::Scenario scenario, const step::TrainAsk& ask, bool open,
                                  const Context& context) {
  context.begin("timing the step on " + scenario.cluster);
  return open ? plan::run_without_layout(std::move(scenario), ask, context) : step::predict(std::move(scenario), ask);
}

}  // namespace busbar::questions
