// The longest path through a ring's dependency grid.
#pragma once

#include <cstdint>
#include <vector>

namespace busbar::collectives {

/// Cost of sending one piece over an edge: the transfer occupies the edge, then the latency follows. In a ring, a
/// latency down to -transfer means that a piece arrives before the edge is free for the next one.
struct SendCost {
  double latency_ps = 0;
  double transfer_ps = 0;
};

/// Where the longest path runs: once over `length` consecutive edges from `first` on, all other sends on the slowest of
/// them. Edges are counted around the ring, more than once if length > n.
struct RingWindow {
  std::uint64_t first = 0, length = 0;
};

/// Edges 0 -> 1 -> ... -> n-1 -> 0 of one ring, and the time at which its R-th round ends.
///
/// With tau the transfer and lambda the latency of an edge, a path over a window of w <= R consecutive edges (which may
/// go around more than once) takes  sum over the window (lambda + tau) + (R - w) max tau.  With m the transfer of the
/// edge on which the other sends stay,
///   T = max over m, over windows that contain an edge with tau = m, of  R m + sum over the window (lambda + tau - m),
/// because a path that stays on an edge other than the slowest of its window is only shorter. For one m this is a
/// sliding minimum over prefix sums. Without the condition on m, the maximum F(m) is an upper bound and grows with m.
/// So values below the first F(m) <= best are skipped.
/// Cost: O(n) if all edges are equal, else O(n log n + (n + R) d) with d passes: 2 in every realistic case tried; 163
/// in the worst case found, 65,536 rates that differ by little and one latency far from the slowest edge.
/// No allocation in a second call of the same size. Differs from the exact path only by rounding, at most 1e-11 of it.
class RingPath {
 public:
  void clear() { edges_.clear(); }
  void add(SendCost edge) { edges_.push_back(edge); }
  /// Time in ps of the last arrival of R = `rounds` rounds; 0 rounds take 0. Pre: at least two edges.
  double longest(std::uint64_t rounds);
  /// The window of the path that the last call found.
  RingWindow window() const { return window_; }
  /// Number of sliding passes over the ring in the last call.
  std::uint32_t passes() const { return passes_; }

 private:
  void collect_transfers();
  void sum_prefixes(std::uint64_t rounds);
  /// R m + best window sum; with `pinned`, windows must contain an edge with tau = m.
  double best_path(std::uint64_t rounds, double m, bool pinned);

  std::vector<SendCost> edges_;
  std::vector<double> transfers_;     ///< different tau, ascending
  std::vector<double> prefix_;        ///< sums of lambda + tau around the ring, n + R + 1 entries
  std::vector<std::uint32_t> queue_;  ///< starts of windows with ascending prefix value
  std::uint32_t passes_ = 0;
  RingWindow best_, window_;  ///< of the last best_path, and of the longest so far
};

}  // namespace busbar::collectives
