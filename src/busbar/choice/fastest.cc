#include "busbar/choice/fastest.h"

#include <algorithm>

#include "busbar/collectives/builders.h"
#include "busbar/engine/lowering.h"

namespace busbar {
namespace {

/// Algorithms worth a trial: ring, tree and hierarchical where they exist; else all that endpoints run, those with a
/// route per pair of ranks only up to a size that lowers in seconds.
std::vector<std::string> candidates(const ScheduleSpec& spec) {
  constexpr std::uint32_t kMostForPairs = 512;
  switch (spec.op) {
    case Collective::kAllReduce:
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kBroadcast:
    case Collective::kReduce:
      return algorithms_for(spec.op, spec.ranks, spec.ranks_per_group);
    default:
      break;
  }
  std::vector<std::string> names = algorithms_for(spec, false);
  std::erase_if(names, [&](const std::string& name) {
    return spec.ranks > kMostForPairs && (name == "direct" || name == "pairwise");
  });
  return names;
}

}  // namespace

Result<CollectiveCall> resolve_algorithm(Engine& analytic, const Placement& placement, const Topology& topology,
                                         CollectiveCall call) {
  if (call.algorithm != "auto" && call.algorithm != "fastest") return call;
  Error last{ErrorCode::kUnsupported,
             std::string(name_of(call.op)) +
                 " has no schedule yet; all_reduce, all_gather, reduce_scatter, broadcast and reduce have",
             {}};
  Duration best = Duration::max();
  std::string chosen;
  ScheduleSpec spec;
  spec.op = call.op;
  spec.ranks = call.groups.size();
  spec.ranks_per_group = ranks_per_domain(call, topology, placement);
  spec.root = call.root;
  for (const std::string& name : candidates(spec)) {
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
