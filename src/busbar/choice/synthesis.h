// Schedules made for one machine: rings in orders of their own and packed trees, as ordinary Schedules.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "busbar/choice/cut_time.h"
#include "busbar/engine/engine.h"

namespace busbar {

struct Synthesized {
  std::shared_ptr<const Schedule> schedule;
  std::string what;  ///< "6 rings searched", "12 trees"
};

/// Candidates for `call.op` over the ranks of group 0: rings and trees that leave each node by another GPU in turn,
/// trees made for one node and textbook algorithms between nodes (two_levels.h), and by search over up to 64 ranks
/// rings, trees, and trees from every rank. A broadcast also as a scatter and any all-gather, a reduce as any
/// reduce-scatter and a gather. Nothing here depends on call.bytes: make them once for all sizes.
/// Errors: kUnsupported for several groups at once.
Result<std::vector<Synthesized>> synthesize(const Router& router, const Placement& placement,
                                            const CollectiveCall& call);

struct SynthesizedCall {
  CollectiveCall call;      ///< algorithm "synthesized" with its schedule, or `textbook` where nothing is faster
  std::string what;         ///< of Synthesized, or "plain ring"
  CollectiveCall textbook;  ///< what it was held against
  Duration textbook_alone;  ///< what that takes
  std::optional<Duration> ring_alone;  ///< what algorithm "ring" takes, where there is one
};
/// `call` with the candidate whose time alone on `engine` is least, and `textbook`, which has its algorithm and
/// protocol chosen, unless one is faster. `sieve`: as for resolve_algorithm, or null.
Result<SynthesizedCall> pick_fastest(Engine& engine, Engine* sieve, CutTime& cut,
                                     const std::vector<Synthesized>& candidates, CollectiveCall call,
                                     CollectiveCall textbook);

}  // namespace busbar
