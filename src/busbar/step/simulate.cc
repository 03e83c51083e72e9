#include "busbar/step/simulate.h"

#include <algorithm>
#include <tuple>

#include "busbar/base/id.h"
#include "busbar/step/step_timeline.h"

namespace busbar {
namespace {

std::vector<CallUse> call_uses(const Program& program, const ProgramRun& run, const Attribution& attribution,
                               const Engine& engine) {
  std::vector<CallUse> uses(program.calls.size());
  for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.kind != OpKind::kCollective) continue;
    CallUse& use = uses[index(op.call)];
    if (use.count++ == 0) {
      use.cls = op.cls;
      use.label = op.label;
    }
    use.total += run.ops[i].end - run.ops[i].start;
  }
  for (std::uint32_t c = 0; c < uses.size(); ++c) {
    uses[c].call = static_cast<CallId>(c);
    uses[c].alone = engine.time_alone(run.calls[c]);
    uses[c].exposed = attribution.exposed[c];
    uses[c].bound = engine.bound_by(run.calls[c]);
  }
  std::sort(uses.begin(), uses.end(), [](const CallUse& a, const CallUse& b) {
    return std::tie(b.exposed, b.total, a.call) < std::tie(a.exposed, a.total, b.call);
  });
  return uses;
}

}  // namespace

Result<StepResult> simulate_step(const Program& program, Engine& engine, const StepOptions& options) {
  BUSBAR_ASSIGN(const ProgramRun run, run_program(program, engine, options.contention));
  const Attribution attribution = attribute(program, run);
  StepResult result;
  result.step_time = run.length;
  result.critical_role = attribution.critical_role;
  result.breakdown = attribution.breakdown;
  result.slowed = attribution.slowed;
  result.critical_time = attribution.critical_time;
  result.calls = call_uses(program, run, attribution, engine);
  if (options.timeline) result.timeline = step_timeline(program, run, engine, options.topology);
  return result;
}

}  // namespace busbar
