// The longest dependency chain of a schedule's phases: their time alone, without walking rounds x ranks.
//
// In a ring, send j of a position starts when its predecessor's send j - 1 has arrived and its own send j - 1 is done.
// The last end is the longest path through this grid: along a window of consecutive edges, with at least one send on
// each; latency counts once per edge, and all other sends are on the slowest edge of the window (ring_path.h). The
// worst R consecutive edges and R sends on the slowest edge are two of these paths, so their maximum (DESIGN 4.3) is a
// lower bound, reached if latencies are equal and one edge is slow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "busbar/collectives/edges.h"
#include "busbar/collectives/ring_path.h"
#include "busbar/collectives/schedule.h"
#include "busbar/collectives/sends.h"
#include "busbar/collectives/tree_nodes.h"

namespace busbar::collectives {

/// Phases [begin, end) of Schedule::phases, all of one channel, walked together.
struct PhaseRun {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool operator==(const PhaseRun&) const = default;
};

/// The runs in order. A ring's reduce-scatter and the following all-gather of the same pieces are one run of 2(n-1)
/// rounds without a barrier. Consecutive stepwise phases (sends.h) of kind kChain over the same members are one run.
/// Every other phase is its own run. Phases of one run may cross different edges.
std::vector<PhaseRun> phase_runs(const Schedule& schedule);

/// Whether consecutive chunks overlap in the phases. They do not if a channel is one pass around a ring, whose edges
/// are always busy, or if each connection ends by itself (Coupling::kFree).
bool pipelines(const Schedule& schedule);

/// Rounds of all phases of the run together (the longest chain, counted in sends).
std::uint32_t run_rounds(const Schedule& schedule, PhaseRun run);

/// Work space of longest_chain, reused between calls.
struct ChainScratch {
  RingPath ring;
  std::vector<double> ready_ps;  ///< per tree node or position
  std::vector<double> next_ps;   ///< per position, after the current round
};

namespace chain_internal {

/// Trees. Broadcast: a child has the piece one send after its parent. Reduce: a node sends after its children.
template <class At, class F>
double tree_chain(const Schedule& s, const Phase& phase, std::uint32_t n, At&& actor_at, F&& cost,
                  std::vector<double>& ready) {
  const bool up = phase.pattern == Pattern::kTreeReduce;
  const TreeNodes tree(s, phase, n);
  ready.assign(n, 0.0);
  double last = 0.0;
  tree.for_each(up, [&](std::uint32_t node) {
    const std::uint32_t parent = tree.parent(node);
    const std::uint32_t child_actor = actor_at(tree.position(node));
    const std::uint32_t parent_actor = actor_at(tree.position(parent));
    const SendCost c = up ? cost(child_actor, parent_actor) : cost(parent_actor, child_actor);
    const std::uint32_t from = up ? node : parent, to = up ? parent : node;
    ready[to] = std::max(ready[to], ready[from] + c.transfer_ps + c.latency_ps);
    last = std::max(last, ready[to]);
  });
  return last;
}

/// Stepwise phases: a position sends when all that it sent and received in earlier rounds is done; its sends of one
/// round leave at the same time.
template <class F>
double stepwise_chain(const Schedule& s, PhaseRun run, std::uint32_t n, std::uint32_t group, F&& cost,
                      ChainScratch& scratch) {
  const GroupFamily& family = s.families[s.phases[run.begin].family];
  scratch.ready_ps.assign(n + 1, 0.0);
  scratch.next_ps.assign(n + 1, 0.0);
  double last = 0.0;
  for (std::uint32_t i = run.begin; i < run.end; ++i) {
    const Phase& ph = s.phases[i];
    for (std::uint32_t r = 0; r < stepwise_rounds(ph.pattern, n); ++r) {
      for_each_send(ph, n, r, [&](const Send& send) {
        const SendCost c = cost(actor_of(ph, family, n, group, send.src), actor_of(ph, family, n, group, send.dst));
        const double spans = static_cast<double>(chunks_of(s, ph, n, send)) / s.phases[run.begin].span;
        const double left = scratch.ready_ps[send.src] + c.transfer_ps * spans;
        double& sent = scratch.next_ps[send.src];
        double& there = scratch.next_ps[send.dst];
        sent = std::max(sent, left);
        there = std::max(there, left + c.latency_ps);
        last = std::max(last, left + c.latency_ps);
      });
      scratch.ready_ps = scratch.next_ps;
    }
  }
  return last;
}

}  // namespace chain_internal

/// Time in ps from the start of the run in `group` to its last arrival, if nothing else uses the edges.
/// `cost(source actor, destination actor)` is the SendCost of ONE piece of the run's first phase (`span` chunks) over
/// that edge.
/// Cost: O(size) calls of `cost` and O(size) work (rings with many different transfer times: see ring_path.h). For
/// stepwise phases O(edges); with kFree that is size^2, and the time is that of the slowest edge.
template <class F>
double longest_chain(const Schedule& schedule, PhaseRun run, std::uint32_t group, F&& cost, ChainScratch& scratch) {
  const Phase& phase = schedule.phases[run.begin];
  const GroupFamily& family = schedule.families[phase.family];
  const std::uint32_t n = family.size();
  if (n <= 1 && !uses_hub(phase.pattern)) return 0.0;
  const auto actor_at = [&](std::uint32_t position) { return family.actor(group, family.member_at(position)); };
  switch (phase.pattern) {
    case Pattern::kRingReduceScatter:
    case Pattern::kRingAllGather: {
      scratch.ring.clear();
      const std::uint32_t first = actor_at(0);
      std::uint32_t from = first;
      for (std::uint32_t p = 0; p < n; ++p) {
        const std::uint32_t to = p + 1 < n ? actor_at(p + 1) : first;
        scratch.ring.add(cost(from, to));
        from = to;
      }
      return scratch.ring.longest((run.end - run.begin) * std::uint64_t{n - 1});
    }
    case Pattern::kChainBroadcast:
    case Pattern::kChainReduce: {
      const std::uint32_t start = phase.pattern == Pattern::kChainReduce ? (phase.root + 1) % n : phase.root;
      double sum_ps = 0.0;
      std::uint32_t from = actor_at(start);
      for (std::uint32_t k = 1; k < n; ++k) {
        const std::uint32_t to = actor_at((start + k) % n);
        const SendCost c = cost(from, to);
        sum_ps += c.transfer_ps + c.latency_ps;
        from = to;
      }
      return sum_ps;
    }
    case Pattern::kTreeReduce:
    case Pattern::kTreeBroadcast:
      return chain_internal::tree_chain(schedule, phase, n, actor_at, cost, scratch.ready_ps);
    default:
      return chain_internal::stepwise_chain(schedule, run, n, group, cost, scratch);
  }
}

}  // namespace busbar::collectives
