// Maximum flow between two sides of a network, hence the narrowest cut between them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace busbar {

/// Units: those of the capacities. Source: E. A. Dinic, 1970 (blocking flows over level graphs).
/// Cost: O(nodes^2 x edges) at worst; far less on networks of few tiers. Order: equal input, equal result.
class MaxFlow {
 public:
  explicit MaxFlow(std::uint32_t nodes) : first_(nodes, kEnd) {}
  std::uint32_t add_node();
  /// An edge each way, `forth` and `back` wide.
  void connect(std::uint32_t a, std::uint32_t b, double forth, double back);
  /// Flow from `source` to `sink`; the edges keep nothing of it, so other pairs may be asked afterwards.
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

}  // namespace busbar
