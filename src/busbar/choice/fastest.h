// Which algorithm to use: the fastest legal one by closed form.
#pragma once

#include <string>
#include <vector>

#include "busbar/engine/engine.h"

namespace busbar::choice {

struct TrialHelpers;  // trial_times.h

/// Algorithms that can be timed for a call, and those left out because timing them would take too long.
struct LegalAlgorithms {
  std::vector<std::string> names;     ///< in the order of docs/collectives.md
  std::vector<std::string> left_out;  ///< "direct (16777216 routes)"
};
/// Every algorithm that can build `call` on its machine, including in-network ones if switches reduce. Algorithms that
/// need more than half a million routes (about a second) are left out. The limit is a count, not a time, so that the
/// same call has the same answer on every machine.
LegalAlgorithms legal_algorithms(const program::CollectiveCall& call, const routing::Placement& placement,
                                 const topology::Topology& topology, const Shortcuts& shortcuts = {});

/// The names that "fastest" tries: the legal ones, and forms over two levels of those that name levels.
std::vector<std::string> fastest_names(const program::CollectiveCall& call, const routing::Placement& placement,
                                       const topology::Topology& topology, const Shortcuts& shortcuts = {});

/// `call` with "fastest" replaced by the algorithm of fastest_names() with the least time alone on `analytic`, and
/// "auto" by the fastest customary one (ring, tree, hierarchical, torus), or if none of these is legal, as "fastest"
/// without forms. A protocol of kAuto becomes the protocol of the least time. Ties go to the order of
/// docs/collectives.md. A concrete algorithm is returned unchanged. A trial is lowered at most once, and not at all if
/// CutTime or Engine::least_time bounds it above the best time. `lower_bound`: an engine that is cheaper to run and
/// whose times are never above those of `analytic`; a trial that is slower even there is not timed by `analytic`.
/// `helpers`: time candidates on further threads where one takes long; the choice does not depend on them.
/// Errors: the error of Engine::prepare for the last candidate, if none can be lowered.
Result<program::CollectiveCall> resolve_algorithm(engine::Engine& analytic, const routing::Placement& placement,
                                                  const topology::Topology& topology, program::CollectiveCall call,
                                                  engine::Engine* lower_bound = nullptr,
                                                  const TrialHelpers* helpers = nullptr);

}  // namespace busbar::choice
