// Maximum flow between two sides of a network, which equals the narrowest cut between them.
#pragma once

#include <cstdint>
#include <vector>

namespace busbar::topology {

/// Units: those of the capacities. Source: E. A. Dinic, 1970 (blocking flows over level graphs). Cost: O(nodes^2 x
/// edges) at worst; far less on networks of few tiers. Order: equal input gives equal results.
class MaxFlow {
 public:
  explicit MaxFlow(std::uint32_t nodes) : first_(nodes, kEnd) {}
  /// An edge in each direction, with capacities `forth` and `back`.
  void connect(std::uint32_t a, std::uint32_t b, double forth, double back);
  /// Flow from `source` to `sink`. The edges are unchanged afterwards, so other pairs may follow.
  double solve(std::uint32_t source, std::uint32_t sink);

 private:
  static constexpr std::uint32_t kEnd = 0xffff'ffffu;
  struct Edge {
    std::uint32_t to, next;
    double capacity, left;
  };
  bool level(std::uint32_t source, std::uint32_t sink);
  double push(std::uint32_t at, std::uint32_t sink, double most);

  std::vector<std::uint32_t> first_, level_, at_;
  std::vector<Edge> edges_;
};

}  // namespace busbar::topology
