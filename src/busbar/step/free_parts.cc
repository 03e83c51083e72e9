#include "busbar/step/free_parts.h"

namespace busbar::step {
namespace {

program::Program without(program::Program program, const BreakdownPart& part) {
  const auto free = [&](program::Op& op) {
    if (part_of_work(op).time != part.time) return;
    op.kind = program::OpKind::kDelay;
    op.duration = {};
  };
  for (program::Op& op : program.ops) free(op);
  for (program::Pass& pass : program.passes)
    for (program::Op& op : pass.ops) free(op);
  return program;
}

Result<Duration> step_without(const TrainRun& run, const BreakdownPart& part) {
  if (part.time == &Breakdown::slowest_gpu) return run.step.balanced;
  BUSBAR_ASSIGN(const StepResult step, step_of(run, without(run.program, part)));
  return step.step_time;
}

}  // namespace

Result<std::vector<FreePart>> find_free_parts(const TrainRun& run, const Context& context) {
  std::vector<FreePart> out;
  std::size_t done = 0;
  for (const BreakdownPart& part : breakdown_parts()) {
    if (!context.go_on("free parts", done++, breakdown_parts().size())) break;
    if (part.time == &Breakdown::bubble || run.step.breakdown.*part.time <= Duration()) continue;
    BUSBAR_ASSIGN(const Duration step, step_without(run, part));
    out.push_back({part.name, step.in_s(), (run.step.step_time - step).in_s()});
  }
  context.go_on("free parts", done, done);
  return out;
}

}  // namespace busbar::step
