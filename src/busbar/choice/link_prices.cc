#include "busbar/choice/internal/link_prices.h"

#include <algorithm>
#include <cmath>

namespace busbar::choice {
namespace {

double steep(double x) {
  const double x3 = x * x * x, x6 = x3 * x3;
  return x6 * x6;
}

}  // namespace

LinkPrices::LinkPrices(const RankRoutes& routes)
    : routes_(routes), busy_(routes.links(), 0.0), now_(busy_), pairs_begin_(routes.links() + 1, 0) {
  const std::uint32_t n = routes.ranks();
  const auto each = [&](auto&& f) {
    for (std::uint32_t a = 0; a < n; ++a)
      for (std::uint32_t b = 0; b < n; ++b)
        for (const RankRoutes::Part& p : routes.route(a, b)) f(p.link, a * n + b);
  };
  each([&](std::uint32_t link, std::uint32_t) { ++pairs_begin_[link + 1]; });
  for (std::size_t l = 1; l < pairs_begin_.size(); ++l) pairs_begin_[l] += pairs_begin_[l - 1];
  pairs_.resize(pairs_begin_.back());
  std::vector<std::size_t> at(pairs_begin_.begin(), pairs_begin_.end() - 1);
  each([&](std::uint32_t link, std::uint32_t pair) { pairs_[at[link]++] = pair; });
}

void LinkPrices::add_parts(std::span<const RankRoutes::Part> parts, double bytes) {
  for (const RankRoutes::Part& p : parts) {
    double& busy = busy_[p.link];
    busy = std::max(0.0, busy + bytes * p.ps_per_byte);  // rounding errors never make a link less than idle
    now_[p.link] = steep(busy * per_scale_);
  }
}

double LinkPrices::busiest() const { return busy_.empty() ? 0 : *std::max_element(busy_.begin(), busy_.end()); }

double LinkPrices::total() const {
  double sum = 0;
  for (const double x : now_) sum += x;
  return sum;
}

void LinkPrices::rescale() {
  double scale = busiest();
  for (std::uint32_t b = 1; scale == 0 && b < routes_.ranks(); ++b)
    for (const RankRoutes::Part& p : routes_.route(0, b)) scale = std::max(scale, p.ps_per_byte);
  per_scale_ = 1 / std::max(scale, 1e-9);
  for (std::size_t l = 0; l < busy_.size(); ++l) now_[l] = steep(busy_[l] * per_scale_);
}

double LinkPrices::price(std::uint32_t from, std::uint32_t to, double bytes) const {
  return routes_.joined(from, to) ? price_of(routes_.route(from, to), bytes) : kUnreachable;
}

double LinkPrices::price_of(std::span<const RankRoutes::Part> parts, double bytes) const {
  double sum = 1e-9;  // among free paths, prefer the fewest sends
  for (const RankRoutes::Part& p : parts)
    sum += steep((busy_[p.link] + bytes * p.ps_per_byte) * per_scale_) - now_[p.link];
  return sum;
}

/// A tree that is being built: the cost of each outside rank as a child of each inside rank, and its cheapest parent.
struct LinkPrices::Grower {
  LinkPrices& prices;
  TreeUse use;
  std::uint32_t n = prices.routes_.ranks();
  std::vector<double> cost = std::vector<double>(std::size_t{n} * n, INFINITY);  ///< parent x n + child
  std::vector<double> least = std::vector<double>(n, INFINITY);
  std::vector<std::uint32_t> parent = std::vector<std::uint32_t>(n, 0), inside = {};  ///< inside: in order of joining
  std::vector<std::uint32_t> depth = std::vector<std::uint32_t>(n, 0);
  std::uint32_t turn = 0;
  std::vector<std::uint32_t> seen = std::vector<std::uint32_t>(std::size_t{n} * n, 0);  ///< last turn, per pair
  std::vector<bool> joined = std::vector<bool>(n, false), stale = std::vector<bool>(n, false);

  double price(std::uint32_t p, std::uint32_t child) const {
    const double once = (use.up ? prices.price(child, p, 1) : 0) + (use.down ? prices.price(p, child, 1) : 0);
    return once * (1 + use.per_depth * depth[p]);
  }

  void join(std::uint32_t rank) {
    joined[rank] = true;
    inside.push_back(rank);
    for (std::uint32_t i = 0; i < n; ++i) {
      if (joined[i]) continue;
      const double c = cost[std::size_t{rank} * n + i] = price(rank, i);
      if (c < least[i]) least[i] = c, parent[i] = rank;
    }
  }

  /// Loads the edge and updates the prices that this raises.
  void load(std::uint32_t from, std::uint32_t to, double bytes) {
    prices.add(from, to, bytes);
    ++turn;
    for (const RankRoutes::Part& part : prices.routes_.route(from, to))
      for (std::size_t k = prices.pairs_begin_[part.link]; k < prices.pairs_begin_[part.link + 1]; ++k) {
        const std::uint32_t pair = prices.pairs_[k], a = pair / n, b = pair % n;
        if (seen[pair] == turn) continue;
        seen[pair] = turn;
        if (use.down && joined[a] && !joined[b]) refresh(a, b);
        if (use.up && joined[b] && !joined[a]) refresh(b, a);
      }
    for (std::uint32_t i = 0; i < n; ++i)
      if (stale[i]) find_parent(i);
  }
  void refresh(std::uint32_t p, std::uint32_t child) {
    cost[std::size_t{p} * n + child] = price(p, child);
    if (parent[child] == p) stale[child] = true;
  }
  void find_parent(std::uint32_t child) {
    stale[child] = false;
    least[child] = INFINITY;
    for (const std::uint32_t p : inside)
      if (const double c = cost[std::size_t{p} * n + child]; c < least[child]) least[child] = c, parent[child] = p;
  }

  std::uint32_t cheapest() const {
    std::uint32_t best = n;
    for (std::uint32_t i = 0; i < n; ++i)
      if (!joined[i] && (best == n || least[i] < least[best])) best = i;
    return best;
  }
};

std::vector<std::vector<std::uint32_t>> LinkPrices::cheapest_tree(std::uint32_t root, TreeUse use) {
  const std::vector<double> before = busy_, before_now = now_;
  Grower g{*this, use};
  std::vector<std::vector<std::uint32_t>> near(g.n);
  g.join(root);
  while (g.inside.size() < g.n) {
    const std::uint32_t child = g.cheapest(), parent = g.parent[child];
    near[parent].push_back(child);
    near[child].push_back(parent);
    g.depth[child] = g.depth[parent] + 1;
    if (use.up) g.load(child, parent, 1);
    if (use.down) g.load(parent, child, 1);
    g.join(child);
  }
  busy_ = before;
  now_ = before_now;
  return near;
}

}  // namespace busbar::choice
