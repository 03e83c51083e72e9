// Schedules made for one machine: rings in their own orders and packed trees, as ordinary Schedules.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "busbar/choice/cut_time.h"
#include "busbar/engine/engine.h"

namespace busbar::choice {

struct Synthesized {
  std::shared_ptr<const collectives::Schedule> schedule;
  std::string what;  ///< "6 rings searched", "12 trees"
};

/// Candidates for `call.op` over the ranks of group 0: rings and trees that leave each node by another GPU in turn;
/// trees made for one node with textbook algorithms between nodes (two_levels.h); and for up to 64 ranks searched
/// rings, searched trees, and trees from every rank. A broadcast is also tried as a scatter and any all-gather, and as
/// any all-reduce of what the root has, a reduce as any reduce-scatter and a gather. No candidate depends on
/// call.bytes: make them once for all sizes. Errors: kUnsupported for several groups at once.
Result<std::vector<Synthesized>> synthesize(const routing::Router& router, const routing::Placement& placement,
                                            const program::CollectiveCall& call, const Shortcuts& shortcuts = {});

struct SynthesizedCall {
  program::CollectiveCall call;  ///< algorithm "synthesized" with its schedule, or `textbook` if no candidate is faster
  std::string what;              ///< of Synthesized, or "plain ring"
  program::CollectiveCall textbook;    ///< the call with which candidates were compared
  Duration textbook_alone;             ///< its time
  std::optional<Duration> ring_alone;  ///< the time of algorithm "ring", if there is one
};
/// Returns `call` with the candidate of least time alone on `engine`, or `textbook`, whose algorithm and protocol are
/// chosen, if no candidate is faster. `lower_bound`: as for resolve_algorithm, or null.
Result<SynthesizedCall> pick_fastest(engine::Engine& engine, engine::Engine* lower_bound, CutTime& cut,
                                     const std::vector<Synthesized>& candidates, program::CollectiveCall call,
                                     program::CollectiveCall textbook);

}  // namespace busbar::choice
