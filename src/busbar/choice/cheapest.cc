#include "busbar/choice/internal/cheapest.h"

#include <algorithm>
#include <cmath>

namespace busbar::choice {
namespace {

constexpr std::uint32_t kMostExact = 9;

std::vector<std::uint32_t> held_karp(const PairPrices& c, std::uint32_t first) {
  const std::uint32_t n = c.ranks(), m = n - 1, full = (1u << m) - 1;
  const auto rank = [&](std::uint32_t i) { return i < first ? i : i + 1; };  // the others, without `first`
  std::vector<double> cost(std::size_t{full + 1} * m, INFINITY);
  std::vector<std::uint8_t> before(cost.size(), 0);
  for (std::uint32_t i = 0; i < m; ++i) cost[(std::size_t{1} << i) * m + i] = c.at(first, rank(i));
  for (std::uint32_t set = 1; set <= full; ++set)
    for (std::uint32_t last = 0; last < m; ++last) {
      const double so_far = cost[std::size_t{set} * m + last];
      if (!(set >> last & 1) || so_far == INFINITY) continue;
      for (std::uint32_t next = 0; next < m; ++next) {
        if (set >> next & 1) continue;
        double& there = cost[std::size_t{set | 1u << next} * m + next];
        const double via = so_far + c.at(rank(last), rank(next));
        if (via < there)
          there = via, before[std::size_t{set | 1u << next} * m + next] = static_cast<std::uint8_t>(last);
      }
    }
  std::uint32_t last = 0;
  double best = INFINITY;
  for (std::uint32_t i = 0; i < m; ++i)
    if (const double sum = cost[std::size_t{full} * m + i] + c.at(rank(i), first); sum < best) best = sum, last = i;
  std::vector<std::uint32_t> order(n, first);
  for (std::uint32_t set = full, p = m; p > 0; --p) {
    order[p] = rank(last);
    const std::uint32_t previous = before[std::size_t{set} * m + last];
    set &= ~(1u << last);
    last = previous;
  }
  return order;
}

/// Moves runs of up to three ranks to other places as long as that is cheaper. Position 0 stays.
void or_opt(const PairPrices& c, std::vector<std::uint32_t>& order) {
  const auto n = static_cast<std::uint32_t>(order.size());
  const auto at = [&](std::uint32_t p) { return order[p < n ? p : 0]; };
  for (int pass = 0; pass < 20; ++pass) {
    bool moved = false;
    for (std::uint32_t length = 1; length <= 3 && length + 2 < n; ++length)
      for (std::uint32_t i = 1; i + length <= n; ++i) {
        const std::uint32_t head = order[i], tail = order[i + length - 1], left = order[i - 1], right = at(i + length);
        const double gain = c.at(left, head) + c.at(tail, right) - c.at(left, right);
        std::uint32_t best_gap = n;
        double best = gain * (1 - 1e-9);
        for (std::uint32_t p = 0; p < n; ++p) {  // an insertion between positions p and p + 1
          if (p + 1 >= i && p < i + length) continue;
          const double price = c.at(order[p], head) + c.at(tail, at(p + 1)) - c.at(order[p], at(p + 1));
          if (price < best) best = price, best_gap = p;
        }
        if (best_gap == n) continue;
        const auto run = order.begin() + i;
        if (best_gap < i)
          std::rotate(order.begin() + best_gap + 1, run, run + length);
        else
          std::rotate(run, run + length, order.begin() + best_gap + 1);
        moved = true;
      }
    if (!moved) return;
  }
}

/// The node that gives the tree the least height as its root.
std::uint32_t centre_of(const std::vector<std::vector<std::uint32_t>>& near) {
  const auto farthest = [&](std::uint32_t from, std::vector<std::uint32_t>& parent) {
    std::vector<std::uint32_t> queue{from};
    parent.assign(near.size(), from);
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (const std::uint32_t next : near[queue[i]])
        if (next != parent[queue[i]]) parent[next] = queue[i], queue.push_back(next);
    return queue.back();
  };
  std::vector<std::uint32_t> parent;
  const std::uint32_t end = farthest(0, parent), other = farthest(end, parent);
  std::vector<std::uint32_t> path{other};
  while (path.back() != end) path.push_back(parent[path.back()]);
  return path[path.size() / 2];
}

}  // namespace

std::vector<std::uint32_t> cheapest_ring(const PairPrices& c, const std::vector<std::uint32_t>& start) {
  if (c.ranks() < 3) return start;
  if (c.ranks() <= kMostExact) return held_karp(c, start[0]);
  std::vector<std::uint32_t> order = start;
  or_opt(c, order);
  return order;
}

collectives::GivenTree rooted_at(std::vector<std::vector<std::uint32_t>> near, std::uint32_t root) {
  for (auto& row : near) std::sort(row.begin(), row.end());
  collectives::GivenTree t;
  t.position = {root};
  t.parent = {0};
  for (std::uint32_t i = 0; i < t.position.size(); ++i)
    for (const std::uint32_t next : near[t.position[i]]) {
      if (i > 0 && next == t.position[t.parent[i]]) continue;
      t.position.push_back(next);
      t.parent.push_back(i);
    }
  return t;
}

collectives::GivenTree rooted_at_centre(std::vector<std::vector<std::uint32_t>> near) {
  for (auto& row : near) std::sort(row.begin(), row.end());
  const std::uint32_t centre = centre_of(near);
  return rooted_at(std::move(near), centre);
}

}  // namespace busbar::choice
