#include "busbar/choice/internal/forest_packing.h"

#include <algorithm>
#include <cmath>

#include "busbar/choice/internal/cheapest.h"
#include "busbar/choice/internal/link_prices.h"

namespace busbar::choice {
namespace {

constexpr std::uint32_t kMostRootsTried = 16;  // ranks
constexpr std::uint32_t kMostSweptOften = 32;  // ranks

class ForestPacker {
 public:
  ForestPacker(const RankRoutes& routes, const ForestRequest& request)
      : routes_(routes),
        op_(request.op),
        n_(routes.ranks()),
        any_root_(request.any_root),
        per_depth_(request.per_depth),
        across_bytes_((op_ == collectives::Collective::kAllReduce ? 2.0 : 1.0) * (request.nodes - 1) / request.nodes),
        prices_(routes) {}

  std::vector<ForestPacking> all(std::uint32_t most_trees) {
    std::vector<ForestPacking> out;
    double least = INFINITY;
    for (const std::uint32_t goal : goals(most_trees)) {
      while (units_.size() < goal) add();
      for (int sweep = 0; sweep < (n_ > kMostSweptOften ? 1 : 4) && improve(); ++sweep) {
      }
      if (!reaches_all()) break;
      const double busiest = prices_.busiest() / static_cast<double>(units_.size());
      if (out.empty() || goal == n_ || busiest < least * (1 - 1e-3)) out.push_back({result(), busiest});
      least = std::min(least, busiest);
    }
    return out;
  }

 private:
  /// Numbers of trees at which to stop.
  std::vector<std::uint32_t> goals(std::uint32_t most) const {
    if (n_ > kMostSweptOften) return any_root_ ? std::vector<std::uint32_t>{4, 8, 32} : std::vector<std::uint32_t>{n_};
    std::vector<std::uint32_t> out;
    for (const std::uint32_t each : {1u, 2u, 3u, 4u, 6u, 8u, 12u})
      if (each == 1 || each * n_ <= most) out.push_back(each * n_);
    for (const std::uint32_t few : {2u, 4u, 8u, 16u, 32u})
      if (any_root_ && few < n_) out.push_back(few);
    std::sort(out.begin(), out.end());
    return out;
  }

  bool scatters() const { return op_ != collectives::Collective::kAllGather; }
  bool gathers() const { return op_ != collectives::Collective::kReduceScatter; }

  template <class F>
  static void for_each_edge_of(const collectives::GivenTree& t, F&& f) {
    for (std::uint32_t i = 1; i < t.position.size(); ++i) f(t.position[i], t.position[t.parent[i]]);
  }
  void load(const collectives::ForestTree& u, double sign) {
    load_up(u, sign);
    if (gathers()) for_each_edge_of(u.down, [&](auto child, auto parent) { prices_.add(parent, child, sign); });
  }
  void load_up(const collectives::ForestTree& u, double sign) {
    if (across_bytes_ > 0) prices_.add_across(root_of(u), sign * across_bytes_);
    if (scatters()) for_each_edge_of(u.up, [&](auto child, auto parent) { prices_.add(child, parent, sign); });
  }
  std::uint32_t root_of(const collectives::ForestTree& u) const { return (scatters() ? u.up : u.down).position[0]; }

  /// The returned tree is not loaded yet.
  collectives::ForestTree grow(std::uint32_t root) {
    collectives::ForestTree u;
    if (scatters()) u.up = rooted_at(prices_.cheapest_tree(root, {true, false, per_depth_}), root);
    if (scatters()) load_up(u, 1);
    if (gathers()) u.down = rooted_at(prices_.cheapest_tree(root, {false, true, per_depth_}), root);
    if (scatters()) load_up(u, -1);
    return u;
  }

  /// The cheapest tree for a share whose root was `root`.
  collectives::ForestTree cheapest(std::uint32_t root) {
    if (!any_root_) return grow(root);
    std::vector<std::uint32_t> roots;
    if (n_ <= kMostRootsTried)
      for (std::uint32_t r = 0; r < n_; ++r) roots.push_back((root + r) % n_);
    else
      roots = {root, cheapest_border()};
    collectives::ForestTree best;
    double least = 0;
    for (const std::uint32_t r : roots) {
      collectives::ForestTree u = grow(r);
      load(u, 1);
      const double sum = prices_.total();
      load(u, -1);
      if (r == roots[0] || sum < least * (1 - 1e-9)) best = std::move(u), least = sum;
    }
    return best;
  }
  std::uint32_t cheapest_border() const {
    std::uint32_t best = 0;
    for (std::uint32_t r = 1; r < n_; ++r)
      if (prices_.price_across(r, across_bytes_) < prices_.price_across(best, across_bytes_)) best = r;
    return best;
  }

  void add() {
    prices_.rescale();
    collectives::ForestTree u = cheapest(static_cast<std::uint32_t>(units_.size() % n_));
    load(u, 1);
    units_.push_back(std::move(u));
  }

  bool improve() {
    return replace_each(
        prices_, units_, [this](const collectives::ForestTree& u, double sign) { load(u, sign); },
        [this](const collectives::ForestTree& u) { return cheapest(root_of(u)); });
  }

  bool reaches_all() const {
    bool all = true;
    for (const collectives::ForestTree& u : units_) {
      if (scatters()) for_each_edge_of(u.up, [&](auto child, auto parent) { all &= routes_.joined(child, parent); });
      if (gathers()) for_each_edge_of(u.down, [&](auto child, auto parent) { all &= routes_.joined(parent, child); });
      if (across_bytes_ > 0) all &= !routes_.across(root_of(u)).empty();
    }
    return all;
  }

  static bool same(const collectives::GivenTree& a, const collectives::GivenTree& b) {
    return a.position == b.position && a.parent == b.parent;
  }
  std::vector<collectives::ForestTree> result() const {
    std::vector<collectives::ForestTree> out;
    for (const collectives::ForestTree& u : units_)
      add_or_weigh(out, u, [&](const collectives::ForestTree& o) { return same(o.up, u.up) && same(o.down, u.down); });
    return out;
  }

  const RankRoutes& routes_;
  collectives::Collective op_;
  std::uint32_t n_;
  bool any_root_;
  double per_depth_;
  double across_bytes_;  ///< over the node's border at its root, per byte of a tree
  LinkPrices prices_;    ///< of the bytes that each tree carries
  std::vector<collectives::ForestTree> units_;
};

}  // namespace

std::vector<ForestPacking> pack_forests(const RankRoutes& routes, const ForestRequest& request) {
  const collectives::Collective op = request.op;
  const bool pieces = op == collectives::Collective::kAllReduce || op == collectives::Collective::kAllGather ||
                      op == collectives::Collective::kReduceScatter;
  if (!pieces || routes.ranks() * request.nodes < 2) return {};
  return ForestPacker(routes, request).all(request.most_trees);
}

}  // namespace busbar::choice
