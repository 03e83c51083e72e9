#include "busbar/choice/packing.h"

#include <algorithm>
#include <cmath>

#include "busbar/choice/cheapest.h"

namespace busbar {
namespace {

constexpr double kUnreachable = 1e30;

/// x^12: steep enough that the busiest link rules, smooth enough that the next ones count.
double steep(double x) {
  const double x3 = x * x * x, x6 = x3 * x3;
  return x6 * x6;
}

/// One ring or tree as the directed pairs of ranks it sends between.
struct Unit {
  std::vector<std::uint32_t> order;  ///< rings
  GivenTree tree;
};

class Packer {
 public:
  Packer(const RankRoutes& routes, Collective op, std::uint32_t root, PackingShape shape)
      : routes_(routes), op_(op), root_(root), shape_(shape), n_(routes.ranks()), busy_(routes.links(), 0.0) {
    const double n = n_;
    ring_bytes_ = op == Collective::kAllReduce                                ? 2 * (n - 1) / n
                  : op == Collective::kBroadcast || op == Collective::kReduce ? 1
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
      const double busiest = *std::max_element(busy_.begin(), busy_.end()) / goal;
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
        const bool unused = (op_ == Collective::kBroadcast && p + 1 == n_) || (op_ == Collective::kReduce && p == 0);
        if (!unused) f(u.order[p], u.order[p + 1 < n_ ? p + 1 : 0], ring_bytes_);
      }
      return;
    }
    for (std::uint32_t i = 1; i < n_; ++i) {
      const std::uint32_t child = u.tree.position[i], parent = u.tree.position[u.tree.parent[i]];
      if (op_ != Collective::kBroadcast) f(child, parent, 1.0);
      if (op_ != Collective::kReduce) f(parent, child, 1.0);
    }
  }

  void load(const Unit& u, double sign) {
    for_each_pair(u, [&](std::uint32_t a, std::uint32_t b, double bytes) {
      for (const RankRoutes::Part& p : routes_.route(a, b)) busy_[p.link] += sign * bytes * p.ps_per_byte;
    });
    for (double& x : busy_) x = std::max(x, 0.0);  // round-off never makes a link less than idle
  }

  double total() const {
    double sum = 0;
    for (const double x : busy_) sum += steep(x / scale_);
    return sum;
  }

  /// What one more use of each pair would add to the total.
  PairPrices prices() const {
    PairPrices c(n_, kUnreachable);
    for (std::uint32_t a = 0; a < n_; ++a)
      for (std::uint32_t b = 0; b < n_; ++b) {
        const bool chain = op_ == Collective::kBroadcast || op_ == Collective::kReduce;
        const bool unused = chain && (op_ == Collective::kBroadcast ? b : a) == root_;  // where a chain is open
        if (a != b) c.at(a, b) = unused ? 0 : price_of(a, b);
      }
    return c;
  }

  Unit cheapest(const std::vector<std::uint32_t>& start) {
    Unit u;
    if (shape_ == PackingShape::kRings)
      u.order = cheapest_ring(prices(), start);
    else
      u.tree = grow_tree();
    return u;
  }

  double price_of(std::uint32_t a, std::uint32_t b) const {
    if (!routes_.joined(a, b)) return kUnreachable;
    const double bytes = shape_ == PackingShape::kRings ? ring_bytes_ : 1;
    double sum = 1e-9;  // among free ones the fewest
    for (const RankRoutes::Part& p : routes_.route(a, b))
      sum += steep((busy_[p.link] + bytes * p.ps_per_byte) / scale_) - steep(busy_[p.link] / scale_);
    return sum;
  }

  /// Adds the rank that is cheapest to reach to what the tree has so far, with the tree's own load counted: a port that
  /// it has used once costs more the next time. (With fixed prices this would be Prim's minimum spanning tree.)
  GivenTree grow_tree() {
    const std::vector<double> before = busy_;
    std::vector<std::uint32_t> in{root_}, out;
    std::vector<std::vector<std::uint32_t>> near(n_);
    for (std::uint32_t r = 0; r < n_; ++r)
      if (r != root_) out.push_back(r);
    while (!out.empty()) {
      double least = INFINITY;
      std::uint32_t parent = root_;
      std::size_t child = 0;
      for (const std::uint32_t a : in)
        for (std::size_t i = 0; i < out.size(); ++i) {
          const double price = (op_ != Collective::kBroadcast ? price_of(out[i], a) : 0) +
                               (op_ != Collective::kReduce ? price_of(a, out[i]) : 0);
          if (price < least) least = price, parent = a, child = i;
        }
      const std::uint32_t next = out[child];
      for (const bool up : {true, false})
        if (op_ != (up ? Collective::kBroadcast : Collective::kReduce))
          for (const RankRoutes::Part& p : routes_.route(up ? next : parent, up ? parent : next))
            busy_[p.link] += p.ps_per_byte;
      near[parent].push_back(next);
      near[next].push_back(parent);
      in.push_back(next);
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(child));
    }
    busy_ = before;
    return op_ == Collective::kAllReduce ? hang_by_centre(near) : hang_by(near, root_);
  }

  bool reaches_all(const Unit& u) const {
    bool all = true;
    for_each_pair(u, [&](std::uint32_t a, std::uint32_t b, double) { all &= routes_.joined(a, b); });
    return all;
  }

  bool add() {
    scale_ = std::max(*std::max_element(busy_.begin(), busy_.end()), 1e-9);
    if (units_.empty()) scale_ = slowest_pair();
    std::vector<std::uint32_t> start(n_);
    for (std::uint32_t i = 0; i < n_; ++i) start[i] = (root_ + i) % n_;
    Unit u = cheapest(start);
    if (!reaches_all(u)) return false;
    load(u, 1);
    units_.push_back(std::move(u));
    return true;
  }

  double slowest_pair() const {
    double most = 1e-9;
    for (std::uint32_t b = 1; b < n_; ++b)
      for (const RankRoutes::Part& p : routes_.route(0, b)) most = std::max(most, p.ps_per_byte);
    return most;
  }

  bool improve() {
    bool better = false;
    for (Unit& u : units_) {
      scale_ = *std::max_element(busy_.begin(), busy_.end());
      if (scale_ <= 0) return false;
      const double before = total();
      load(u, -1);
      Unit other = cheapest(u.order);
      load(other, 1);
      if (reaches_all(other) && total() < before * (1 - 1e-9)) {
        u = std::move(other);
        better = true;
        continue;
      }
      load(other, -1);
      load(u, 1);
    }
    return better;
  }

  Packing result(double busiest) const {
    Packing out;
    out.busiest_ps_per_byte = busiest;
    for (const Unit& u : units_) {
      if (shape_ == PackingShape::kRings) {
        out.orders.push_back(u.order);
        continue;
      }
      const auto same = std::find_if(out.trees.begin(), out.trees.end(), [&](const WeightedTree& w) {
        return w.tree.position == u.tree.position && w.tree.parent == u.tree.parent;
      });
      if (same == out.trees.end())
        out.trees.push_back({u.tree, 1});
      else
        ++same->weight;
    }
    return out;
  }

  const RankRoutes& routes_;
  Collective op_;
  std::uint32_t root_;
  PackingShape shape_;
  std::uint32_t n_;
  double ring_bytes_ = 1, scale_ = 1;
  std::vector<double> busy_;  ///< ps per byte that each unit carries, summed over the units
  std::vector<Unit> units_;
};

}  // namespace

Packing pack(const RankRoutes& routes, Collective op, std::uint32_t root, PackingShape shape,
             std::uint32_t most_units) {
  const bool reduces = op == Collective::kAllReduce || op == Collective::kBroadcast || op == Collective::kReduce;
  if (routes.ranks() < 2 || (shape == PackingShape::kTrees && !reduces)) return {};
  return Packer(routes, op, root, shape).best(most_units);
}

}  // namespace busbar
