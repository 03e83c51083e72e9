#include "busbar/step/run_program.h"

#include <utility>

#include "busbar/base/id.h"
#include "busbar/step/internal/program_loop.h"

namespace busbar {
namespace {

/// Runs the pass by itself to find when its operations start and end.
Status time_shape(const Program& program, const PassUse& use, const std::vector<CallId>& calls, const Engine& engine,
                  const Contention& contention, PassShape& shape) {
  SeparateCalls separate(engine);
  const Program own = alone(program.passes[use.pass], program.roles[index(use.role)]);
  BUSBAR_ASSIGN(ProgramRun run, ProgramLoop(own, separate, contention, calls, {}).run());
  shape.ops = std::move(run.ops);
  shape.rest = rest_of(shape.ops);
  shape.length = run.length;
  return {};
}

}  // namespace

OpRun ProgramRun::at(const Program& program, OpIndex::Place p) const {
  if (p.use == OpIndex::kNoUse) return ops[p.at];
  const UseRun& use = uses[p.use];
  if (use.split != UseRun::kWhole) return splits[use.split][p.at];
  const OpRun& alone = shapes[program.uses[p.use].pass].ops[p.at];
  return {use.begin + alone.start.since_start(), use.begin + alone.end.since_start()};
}

Result<ProgramRun> run_program(const Program& program, Engine& engine, const Contention& contention,
                               const Shortcuts& shortcuts) {
  std::vector<CallId> calls;
  for (const CollectiveCall& call : program.calls) {
    BUSBAR_ASSIGN(const CallId id, engine.prepare(call));
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

}  // namespace busbar
