#include "busbar/choice/internal/packing.h"

#include <algorithm>

#include "busbar/choice/internal/cheapest.h"
#include "busbar/choice/internal/link_prices.h"

namespace busbar::choice {
namespace {

constexpr double kUnreachable = LinkPrices::kUnreachable;

/// One ring or tree, with the directed pairs of ranks between which it sends.
struct Unit {
  std::vector<std::uint32_t> order;  ///< rings
  collectives::GivenTree tree;
};

class Packer {
 public:
  Packer(const RankRoutes& routes, collectives::Collective op, std::uint32_t root, PackingShape shape)
      : routes_(routes), op_(op), root_(root), shape_(shape), n_(routes.ranks()), prices_(routes) {
    const double n = n_;
    ring_bytes_ = op == collectives::Collective::kAllReduce ? 2 * (n - 1) / n
                  : op == collectives::Collective::kBroadcast || op == collectives::Collective::kReduce ? 1
                                                                                                        : (n - 1) / n;
  }

  Packing best(std::uint32_t most_units) {
    Packing best;
    for (const std::uint32_t goal : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 24u, 32u}) {
      if (goal > most_units) break;
      while (units_.size() < goal)
        if (!add()) return best;
      for (int sweep = 0; sweep < 4 && improve(); ++sweep) {
      }
      const double busiest = prices_.busiest() / goal;
      if (best.size() == 0 || busiest < best.busiest_ps_per_byte * (1 - 1e-3)) best = result(busiest);
    }
    return best;
  }

 private:
  /// Calls f(from, to, bytes per byte of the unit's share).
  template <class F>
  void for_each_pair(const Unit& u, F&& f) const {
    if (shape_ == PackingShape::kRings) {
      for (std::uint32_t p = 0; p < n_; ++p) {
        const bool unused = (op_ == collectives::Collective::kBroadcast && p + 1 == n_) ||
                            (op_ == collectives::Collective::kReduce && p == 0);
        if (!unused) f(u.order[p], u.order[p + 1 < n_ ? p + 1 : 0], ring_bytes_);
      }
      return;
    }
    for (std::uint32_t i = 1; i < n_; ++i) {
      const std::uint32_t child = u.tree.position[i], parent = u.tree.position[u.tree.parent[i]];
      if (op_ != collectives::Collective::kBroadcast) f(child, parent, 1.0);
      if (op_ != collectives::Collective::kReduce) f(parent, child, 1.0);
    }
  }

  void load(const Unit& u, double sign) {
    for_each_pair(u, [&](std::uint32_t a, std::uint32_t b, double bytes) { prices_.add(a, b, sign * bytes); });
  }

  /// The price of one more use of each pair.
  PairPrices ring_prices() const {
    PairPrices c(n_, kUnreachable);
    for (std::uint32_t a = 0; a < n_; ++a)
      for (std::uint32_t b = 0; b < n_; ++b) {
        const bool chain = op_ == collectives::Collective::kBroadcast || op_ == collectives::Collective::kReduce;
        const bool unused =
            chain && (op_ == collectives::Collective::kBroadcast ? b : a) == root_;  // where a chain ends
        if (a != b) c.at(a, b) = unused ? 0 : prices_.price(a, b, ring_bytes_);
      }
    return c;
  }

  Unit cheapest(const std::vector<std::uint32_t>& start) {
    Unit u;
    if (shape_ == PackingShape::kRings)
      u.order = cheapest_ring(ring_prices(), start);
    else
      u.tree = grow_tree();
    return u;
  }

  collectives::GivenTree grow_tree() {
    auto near = prices_.cheapest_tree(
        root_, {op_ != collectives::Collective::kBroadcast, op_ != collectives::Collective::kReduce});
    return op_ == collectives::Collective::kAllReduce ? rooted_at_centre(std::move(near))
                                                      : rooted_at(std::move(near), root_);
  }

  bool reaches_all(const Unit& u) const {
    bool all = true;
    for_each_pair(u, [&](std::uint32_t a, std::uint32_t b, double) { all &= routes_.joined(a, b); });
    return all;
  }

  bool add() {
    prices_.rescale();
    std::vector<std::uint32_t> start(n_);
    for (std::uint32_t i = 0; i < n_; ++i) start[i] = (root_ + i) % n_;
    Unit u = cheapest(start);
    if (!reaches_all(u)) return false;
    load(u, 1);
    units_.push_back(std::move(u));
    return true;
  }

  bool improve() {
    return replace_each(
        prices_, units_, [this](const Unit& u, double sign) { load(u, sign); },
        [this](const Unit& u) { return cheapest(u.order); }, [this](const Unit& u) { return reaches_all(u); });
  }

  Packing result(double busiest) const {
    Packing out;
    out.busiest_ps_per_byte = busiest;
    for (const Unit& u : units_) {
      if (shape_ == PackingShape::kRings) {
        out.orders.push_back(u.order);
        continue;
      }
      add_or_weigh(out.trees, collectives::WeightedTree{u.tree, 1}, [&](const collectives::WeightedTree& w) {
        return w.tree.position == u.tree.position && w.tree.parent == u.tree.parent;
      });
    }
    return out;
  }

  const RankRoutes& routes_;
  collectives::Collective op_;
  std::uint32_t root_;
  PackingShape shape_;
  std::uint32_t n_;
  double ring_bytes_ = 1;
  LinkPrices prices_;  ///< ps per byte that each unit carries, summed over the units
  std::vector<Unit> units_;
};

}  // namespace

Packing pack(const RankRoutes& routes, collectives::Collective op, std::uint32_t root, PackingShape shape,
             std::uint32_t most_units) {
  const bool reduces = op == collectives::Collective::kAllReduce || op == collectives::Collective::kBroadcast ||
                       op == collectives::Collective::kReduce;
  if (routes.ranks() < 2 || (shape == PackingShape::kTrees && !reduces)) return {};
  return Packer(routes, op, root, shape).best(most_units);
}

}  // namespace busbar::choice
