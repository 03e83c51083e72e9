#include "busbar/step/simulate.h"

#include <algorithm>
#include <tuple>

#include "busbar/base/id.h"
#include "busbar/step/internal/step_timeline.h"

namespace busbar::step {
namespace {

/// How often each call ran, and its total time.
void count_calls(const program::Program& program, const program::OpIndex& ids, const ProgramRun& run,
                 std::vector<CallUse>& uses) {
  const auto add = [&](program::OpIndex::Place p) {
    const program::Op& op = ids.op(p);
    if (op.kind != program::OpKind::kCollective) return;
    CallUse& use = uses[index(op.call)];
    if (use.count++ == 0) {
      use.cls = op.cls;
      use.label = op.label;
    }
    const OpRun r = run.at(program, p);
    use.total += r.end - r.start;
  };
  std::vector<std::int64_t> more(program.passes.size(), -1);  // further runs as one event, after the first
  ids.for_each_piece(add, [&](std::uint32_t u) {
    const std::uint32_t pass = program.uses[u].pass;
    if (run.uses[u].split == UseRun::kWhole && ++more[pass] > 0) return;
    for (std::uint32_t i = 0; i < program.passes[pass].ops.size(); ++i) add({u, i});
  });
  for (std::uint32_t p = 0; p < more.size(); ++p)
    for (const std::uint32_t i : run.shapes[p].collectives) {
      if (more[p] <= 0) continue;
      CallUse& use = uses[index(program.passes[p].ops[i].call)];
      use.count += static_cast<std::uint64_t>(more[p]);
      use.total += (run.shapes[p].ops[i].end - run.shapes[p].ops[i].start) * more[p];
    }
}

std::vector<CallUse> call_uses(const program::Program& program, const program::OpIndex& ids, const ProgramRun& run,
                               const Attribution& attribution, const engine::Engine& engine) {
  std::vector<CallUse> uses(program.calls.size());
  count_calls(program, ids, run, uses);
  for (std::uint32_t c = 0; c < uses.size(); ++c) {
    uses[c].call = static_cast<program::CallId>(c);
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

Result<StepResult> simulate_step(const program::Program& program, engine::Engine& engine, const StepOptions& options) {
  BUSBAR_ASSIGN(const ProgramRun run, run_program(program, engine, options.contention, options.shortcuts));
  const program::OpIndex ids(program);
  const Causes causes(program, ids, run);
  const Attribution attribution = attribute(program, ids, run, causes);
  StepResult result;
  result.step_time = result.balanced = run.length;
  result.critical_role = attribution.critical_role;
  result.breakdown = attribution.breakdown;
  result.slowed = attribution.slowed;
  result.critical_time = attribution.critical_time;
  result.calls = call_uses(program, ids, run, attribution, engine);
  if (options.timeline) result.timeline = step_timeline(program, ids, run, causes, engine, options.topology);
  return result;
}

StepResult as_measured(StepResult step, const StepLaw& law) {
  step.step_time = law.mean_of(step.balanced);
  step.breakdown.slowest_gpu = step.step_time - step.balanced;
  return step;
}

}  // namespace busbar::step
