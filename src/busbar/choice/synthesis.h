// Schedules made for one machine: rings in orders of their own and packed trees, as ordinary Schedules.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "busbar/engine/engine.h"

namespace busbar {

struct Synthesized {
  std::shared_ptr<const Schedule> schedule;
  std::string what;  ///< "6 rings searched", "12 trees"
};

/// Candidates for `call.op` over the ranks of group 0: rings and trees that leave each node by another GPU in turn,
/// rings by search, and trees by search (all_reduce, broadcast, reduce). Searches cover up to 64 ranks. Nothing here
/// depends on call.bytes: make them once for all sizes. Errors: kUnsupported for several groups at once and for
/// collectives without a ring.
Result<std::vector<Synthesized>> synthesize(const Router& router, const Placement& placement,
                                            const CollectiveCall& call);

struct SynthesizedCall {
  CollectiveCall call;  ///< algorithm "synthesized" with its schedule, or "ring" where nothing is faster
  std::string what;     ///< of Synthesized, or "plain ring"
  Duration ring_alone;  ///< what algorithm "ring" takes
};
/// `call` with the candidate whose time alone on `engine` is least, and with algorithm "ring" unless one is faster.
Result<SynthesizedCall> pick_fastest(Engine& engine, const std::vector<Synthesized>& candidates, CollectiveCall call);

}  // namespace busbar
