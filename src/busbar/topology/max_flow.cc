#include "busbar/topology/internal/max_flow.h"

#include <algorithm>
#include <limits>

namespace busbar::topology {

void MaxFlow::connect(std::uint32_t a, std::uint32_t b, double forth, double back) {
  edges_.push_back({b, first_[a], forth, 0});
  first_[a] = static_cast<std::uint32_t>(edges_.size() - 1);
  edges_.push_back({a, first_[b], back, 0});
  first_[b] = static_cast<std::uint32_t>(edges_.size() - 1);
}

double MaxFlow::solve(std::uint32_t source, std::uint32_t sink) {
  for (Edge& e : edges_) e.left = e.capacity;
  double flow = 0;
  while (level(source, sink)) {
    at_ = first_;
    while (const double more = push(source, sink, std::numeric_limits<double>::infinity())) flow += more;
  }
  return flow;
}

bool MaxFlow::level(std::uint32_t source, std::uint32_t sink) {
  level_.assign(first_.size(), kEnd);
  level_[source] = 0;
  std::vector<std::uint32_t> open{source};
  for (std::size_t i = 0; i < open.size(); ++i) {
    for (std::uint32_t e = first_[open[i]]; e != kEnd; e = edges_[e].next) {
      if (edges_[e].left <= 0 || level_[edges_[e].to] != kEnd) continue;
      level_[edges_[e].to] = level_[open[i]] + 1;
      open.push_back(edges_[e].to);
    }
  }
  return level_[sink] != kEnd;
}

double MaxFlow::push(std::uint32_t at, std::uint32_t sink, double most) {
  if (at == sink) return most;
  for (std::uint32_t& e = at_[at]; e != kEnd; e = edges_[e].next) {
    Edge& edge = edges_[e];
    if (edge.left <= 0 || level_[edge.to] != level_[at] + 1) continue;
    const double sent = push(edge.to, sink, std::min(most, edge.left));
    if (sent <= 0) continue;
    edge.left -= sent;
    edges_[e ^ 1u].left += sent;
    return sent;
  }
  return 0;
}

}  // namespace busbar::topology
