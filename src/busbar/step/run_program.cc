#include "busbar/step/run_program.h"

#include <utility>

#include "busbar/base/id.h"
#include "busbar/step/internal/program_loop.h"

namespace busbar::step {
namespace {

/// Runs the pass by itself to find when its operations start and end.
Status time_shape(const program::Program& program, const program::PassUse& use,
                  const std::vector<program::CallId>& calls, const engine::Engine& engine,
                  const workload::Contention& contention, PassShape& shape) {
  SeparateCalls separate(engine);
  const program::Program own = alone(program.passes[use.pass], program.roles[index(use.role)]);
  BUSBAR_ASSIGN(ProgramRun run, ProgramLoop(own, separate, contention, calls, {}).run());
  shape.ops = std::move(run.ops);
  shape.rest = rest_of(shape.ops);
  shape.length = run.length;
  return {};
}

}  // namespace

OpRun ProgramRun::at(const program::Program& program, program::OpIndex::Place p) const {
  if (p.use == program::OpIndex::kNoUse) return ops[p.at];
  const UseRun& use = uses[p.use];
  if (use.split != UseRun::kWhole) return splits[use.split][p.at];
  const OpRun& alone = shapes[program.uses[p.use].pass].ops[p.at];
  return {use.begin + alone.start.since_start(), use.begin + alone.end.since_start()};
}

Result<ProgramRun> run_program(const program::Program& program, engine::Engine& engine,
                               const workload::Contention& contention, const Shortcuts& shortcuts) {
  std::vector<program::CallId> calls;
  for (const program::CollectiveCall& call : program.calls) {
    BUSBAR_ASSIGN(const program::CallId id, engine.prepare(call));
    calls.push_back(id);
  }
  std::vector<PassShape> shapes(program.passes.size());
  for (std::uint32_t u = 0; u < program.uses.size(); ++u) {
    PassShape& shape = shapes[program.uses[u].pass];
    if (!shape.waits.empty()) continue;
    shape = shape_of(program.passes[program.uses[u].pass], program.outside.begin[u + 1] - program.outside.begin[u],
                     calls, engine);
    shape.whole = shape.whole && shortcuts.take(Shortcut::kWholePasses);
    if (shape.whole) {
      BUSBAR_RETURN_IF_ERROR(time_shape(program, program.uses[u], calls, engine, contention, shape));
    }
  }
  return ProgramLoop(program, engine, contention, std::move(calls), std::move(shapes)).run();
}

}  // namespace busbar::step
