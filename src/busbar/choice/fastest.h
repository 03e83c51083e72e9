// Which algorithm: the fastest legal one by closed form.
#pragma once

#include <string>
#include <vector>

#include "busbar/engine/engine.h"

namespace busbar {

/// Algorithms that can be timed for a call, and those left out because of the work it would take.
struct LegalAlgorithms {
  std::vector<std::string> names;     ///< in the order of docs/collectives.md
  std::vector<std::string> left_out;  ///< "direct (16777216 routes)"
};
/// Every algorithm that builds `call` on its machine, in-network ones where switches reduce. Those with more than
/// half a million routes to be found one by one (about a second) are left out, so that the same call has the same
/// answer on every machine.
LegalAlgorithms legal_algorithms(const CollectiveCall& call, const Placement& placement, const Topology& topology);

/// What "fastest" tries: the legal ones, and the forms over two levels of those that name levels.
std::vector<std::string> fastest_names(const CollectiveCall& call, const Placement& placement,
                                       const Topology& topology);

/// `call` with "fastest" replaced by the one of fastest_names() whose time alone on `analytic` is least, and "auto" by the
/// least of those that libraries have everywhere: ring, tree, hierarchical and torus where there is a choice of them,
/// else as "fastest" without forms; a protocol of kAuto by the protocol of that least time. Ties go to the order of
/// docs/collectives.md. A concrete algorithm comes back as it is. A trial is lowered once, and not at all where CutTime
/// or Engine::least_time says that it cannot be faster. `sieve`: an engine whose times are never above those of
/// `analytic` and cost less; what it shows to be no faster is not timed there.
/// Errors: what Engine::prepare says of the last candidate when none can be lowered.
Result<CollectiveCall> resolve_algorithm(Engine& analytic, const Placement& placement, const Topology& topology,
                                         CollectiveCall call, Engine* sieve = nullptr);

/// The same for every call of a program.
Status resolve_algorithms(Engine& analytic, const Placement& placement, const Topology& topology, Program& program);

}  // namespace busbar
