// How busy links are, the price of more traffic on them, and the cheapest tree and path at these prices.
//
// Invariants:
//  1. The price of traffic is its increase of the sum over all links of (busy time / scale)^12. The power is high
//     enough that the busiest link dominates, and low enough that the next ones count.
//  2. Equal inputs give equal trees: ties go to the rank that joined first, then to the lowest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "busbar/choice/internal/rank_routes.h"

namespace busbar::choice {

/// In which directions payloads use the edges of a tree.
struct TreeUse {
  bool up = false, down = false;
  double per_depth = 0;  ///< raises the price by this part per edge between the edge and the root, for shallower trees
};

class LinkPrices {
 public:
  static constexpr double kUnreachable = 1e30;

  explicit LinkPrices(const RankRoutes& routes);
  const RankRoutes& routes() const { return routes_; }

  /// Adds `bytes` from one rank to the other (negative: removes them). add_across: over the nodes' border at `place`.
  void add(std::uint32_t from, std::uint32_t to, double bytes) { add_parts(routes_.route(from, to), bytes); }
  void add_across(std::uint32_t place, double bytes) { add_parts(routes_.across(place), bytes); }
  /// Busy time of the busiest link, in ps.
  double busiest() const;
  /// The sum whose differences are the prices.
  double total() const;
  /// From now on, prices are relative to the busiest link; while all links are idle, to the slowest route from rank 0.
  void rescale();

  double price(std::uint32_t from, std::uint32_t to, double bytes) const;
  double price_across(std::uint32_t place, double bytes) const { return price_of(routes_.across(place), bytes); }

  /// Neighbours of each rank in the tree that grows from `root`. Each step adds the rank that is cheapest to reach. The
  /// tree's own load counts, one byte per edge: a port that it has used once costs more the next time. (With fixed
  /// prices this would be Prim's minimum spanning tree.) Cost: ranks^2, and one new price for each pair that shares a
  /// link with an edge of the tree.
  std::vector<std::vector<std::uint32_t>> cheapest_tree(std::uint32_t root, TreeUse use);

 private:
  void add_parts(std::span<const RankRoutes::Part> parts, double bytes);
  double price_of(std::span<const RankRoutes::Part> parts, double bytes) const;

  struct Grower;
  const RankRoutes& routes_;
  std::vector<double> busy_, now_;  ///< per link: busy time in ps, and its term of total()
  double per_scale_ = 1;
  std::vector<std::size_t> pairs_begin_;  ///< per link: where its pairs begin in pairs_
  std::vector<std::uint32_t> pairs_;      ///< from x ranks + to
};

/// For each unit in turn: takes it out and puts `cheapest(unit)` in its place if `fits` allows it and total() falls.
/// `load(unit, sign)` adds a unit (1) or removes it (-1). Returns true if it replaced a unit.
template <typename Unit, typename Load, typename Cheapest, typename Fits>
bool replace_each(LinkPrices& prices, std::vector<Unit>& units, Load load, Cheapest cheapest, Fits fits) {
  bool better = false;
  for (Unit& u : units) {
    if (prices.busiest() <= 0) return false;
    prices.rescale();
    const double before = prices.total();
    load(u, -1);
    Unit other = cheapest(u);
    load(other, 1);
    if (fits(other) && prices.total() < before * (1 - 1e-9)) {
      u = std::move(other);
      better = true;
      continue;
    }
    load(other, -1);
    load(u, 1);
  }
  return better;
}
template <typename Unit, typename Load, typename Cheapest>
bool replace_each(LinkPrices& prices, std::vector<Unit>& units, Load load, Cheapest cheapest) {
  return replace_each(prices, units, load, cheapest, [](const Unit&) { return true; });
}

/// Appends `one` with weight 1; if `same` holds for an existing element, increments the weight of that element.
template <typename Weighted, typename Same>
void add_or_weigh(std::vector<Weighted>& found, Weighted one, Same same) {
  const auto known = std::find_if(found.begin(), found.end(), same);
  if (known == found.end())
    found.push_back(std::move(one));
  else
    ++known->weight;
}

}  // namespace busbar::choice
