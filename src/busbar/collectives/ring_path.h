// The longest path through a ring's dependency grid.
#pragma once

#include <cstdint>
#include <vector>

namespace busbar {

/// Cost of sending one piece over an edge: the transfer occupies the edge, the latency follows it. In a ring a latency
/// down to -transfer is a piece that arrives before the edge is free for the next one.
struct SendCost {
  double latency_ps = 0;
  double transfer_ps = 0;
};

/// Where the longest path runs: once over `length` consecutive edges from `first` on, the other sends on the slowest of
/// them. Edges count around the ring, more than once where length > n.
struct RingWindow {
  std::uint64_t first = 0, length = 0;
};

/// Edges 0 -> 1 -> ... -> n-1 -> 0 of one ring, and the end of its R-th round.
///
/// With tau the transfer and lambda the latency of an edge, a path over a window of w <= R consecutive edges (which may
/// go around more than once) takes  sum over the window (lambda + tau) + (R - w) max tau.  Writing m for the transfer
/// of the edge on which the other sends stay,
///   T = max over m, over windows that hold an edge with tau = m, of  R m + sum over the window (lambda + tau - m),
/// since staying on an edge that is not the slowest of its window only makes a path shorter. For one m this is a
/// sliding minimum over prefix sums. Without the condition on m the maximum F(m) bounds it and grows with m, so from
/// the first F(m) <= best downwards no value is looked at.
/// Cost: O(n) when all edges are equal, else O(n log n + (n + R) d) with d passes: 2 in every realistic case tried;
/// 163 in the worst found, 65,536 rates that differ by little and one latency far from the slowest edge.
/// No allocation in a second call of the same size. Differs from the exact path by rounding, at most 1e-11 of it.
class RingPath {
 public:
  void clear() { edges_.clear(); }
  void add(SendCost edge) { edges_.push_back(edge); }
  /// End of the last arrival of R = `rounds` rounds in ps; 0 rounds take 0. Pre: at least two edges.
  double longest(std::uint64_t rounds);
  /// Of the path that the last call found.
  RingWindow window() const { return window_; }
  /// Sliding passes over the ring that the last call took.
  std::uint32_t passes() const { return passes_; }

 private:
  void collect_transfers();
  void sum_prefixes(std::uint64_t rounds);
  /// R m + best window sum; windows must hold an edge with tau = m where `pinned`.
  double best_path(std::uint64_t rounds, double m, bool pinned);

  std::vector<SendCost> edges_;
  std::vector<double> transfers_;     ///< different tau, ascending
  std::vector<double> prefix_;        ///< sums of lambda + tau around the ring, n + R + 1 entries
  std::vector<std::uint32_t> queue_;  ///< starts of windows with ascending prefix value
  std::uint32_t passes_ = 0;
  RingWindow best_, window_;  ///< of the last best_path, and of the longest so far
};

}  // namespace busbar
