// The edges of a phase and how many chunks cross each, without walking its rounds.
#pragma once

#include <cstdint>

#include "busbar/collectives/schedule.h"
#include "busbar/collectives/sends.h"
#include "busbar/collectives/tree_nodes.h"

namespace busbar::collectives {

/// Chunks that cross each edge of a ring of `size` members in one ring phase: a member forwards all pieces but one.
inline std::uint64_t ring_edge_chunks(const Phase& phase, std::uint32_t size) {
  return std::uint64_t{size - 1} * phase.span;
}

/// Calls f(source actor, destination actor, chunks) once for each directed edge of `group` that `phase` uses; `chunks`
/// counts all chunks that cross it in the phase (std::uint64_t). In stepwise patterns an actor may have several edges,
/// also between members and reducers.
/// Cost: O(edges), no allocation: O(size) for rings, chains and trees, O(size log size) for halving, Bruck and PAT,
/// size^2 for direct and pairwise phases (try chunks_per_pair first).
/// Order: by position of the source (rings, chains), by node (trees), by round and send (stepwise).
template <class F>
void for_each_edge(const Schedule& schedule, const Phase& phase, std::uint32_t group, F&& f) {
  const GroupFamily& family = schedule.families[phase.family];
  const std::uint32_t n = family.size();
  if (n <= 1 && !uses_hub(phase.pattern)) return;
  const auto actor_at = [&](std::uint32_t position) { return family.actor(group, family.member_at(position)); };
  switch (phase.pattern) {
    case Pattern::kRingReduceScatter:
    case Pattern::kRingAllGather: {
      const std::uint64_t chunks = ring_edge_chunks(phase, n);
      const std::uint32_t first = actor_at(0);
      std::uint32_t from = first;
      for (std::uint32_t p = 0; p < n; ++p) {
        const std::uint32_t to = p + 1 < n ? actor_at(p + 1) : first;
        f(from, to, chunks);
        from = to;
      }
      return;
    }
    case Pattern::kChainBroadcast:
    case Pattern::kChainReduce: {
      const std::uint32_t start = phase.pattern == Pattern::kChainReduce ? (phase.root + 1) % n : phase.root;
      std::uint32_t from = actor_at(start);
      for (std::uint32_t k = 1; k < n; ++k) {
        const std::uint32_t to = actor_at((start + k) % n);
        f(from, to, std::uint64_t{phase.span});
        from = to;
      }
      return;
    }
    case Pattern::kTreeReduce:
    case Pattern::kTreeBroadcast: {
      const TreeNodes tree(schedule, phase, n);
      for (std::uint32_t i = 1; i < n; ++i) {
        const std::uint32_t child = actor_at(tree.position(i));
        const std::uint32_t parent = actor_at(tree.position(tree.parent(i)));
        if (phase.pattern == Pattern::kTreeReduce)
          f(child, parent, std::uint64_t{phase.span});
        else
          f(parent, child, std::uint64_t{phase.span});
      }
      return;
    }
    default:
      for (std::uint32_t r = 0; r < stepwise_rounds(phase.pattern, n); ++r)
        for_each_send(phase, n, r, [&](const Send& s) {
          f(actor_of(phase, family, n, group, s.src), actor_of(phase, family, n, group, s.dst),
            chunks_of(schedule, phase, n, s));
        });
  }
}

}  // namespace busbar::collectives
