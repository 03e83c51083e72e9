#include "busbar/choice/fastest.h"

#include "busbar/collectives/builders.h"
#include "busbar/engine/lowering.h"

namespace busbar {

Result<CollectiveCall> resolve_algorithm(Engine& analytic, const Placement& placement, const Topology& topology,
                                         CollectiveCall call) {
  if (call.algorithm != "auto" && call.algorithm != "fastest") return call;
  Error last{ErrorCode::kUnsupported, std::string(name_of(call.op)) + " has no schedule yet; all_reduce, all_gather, reduce_scatter, broadcast and reduce have", {}};
  Duration best = Duration::max();
  std::string chosen;
  for (const std::string& name :
       algorithms_for(call.op, call.groups.size(), ranks_per_domain(call, topology, placement))) {
    CollectiveCall trial = call;
    trial.algorithm = name;
    const Result<CallId> id = analytic.prepare(trial);
    if (!id.ok()) {
      last = id.error();
      continue;
    }
    const Duration time = analytic.time_alone(*id);
    if (chosen.empty() || time < best) best = time, chosen = name;
  }
  if (chosen.empty()) return last;
  call.algorithm = chosen;
  return call;
}

Status resolve_algorithms(Engine& analytic, const Placement& placement, const Topology& topology, Program& program) {
  for (CollectiveCall& call : program.calls) {
    BUSBAR_ASSIGN(call, resolve_algorithm(analytic, placement, topology, std::move(call)));
  }
  return {};
}

}  // namespace busbar
