// How busy links are, what more use of them costs, and the cheapest tree and path at those prices.
//
// Invariants:
//  1. A price is what more use of the links adds to the sum over all links of (busy time / scale)^12: steep enough that
//     the busiest link rules, smooth enough that the next ones count.
//  2. Equal inputs give equal trees: ties go to the rank that joined first, then to the lowest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "busbar/choice/rank_routes.h"

namespace busbar {

/// Which way payloads use the edges of a tree.
struct TreeUse {
  bool up = false, down = false;
  double per_depth = 0;  ///< dearer by this part for every edge between its upper end and the root: shallower trees
};

class LinkPrices {
 public:
  static constexpr double kUnreachable = 1e30;

  explicit LinkPrices(const RankRoutes& routes);
  const RankRoutes& routes() const { return routes_; }

  /// `bytes` more from one rank to the other, or fewer where negative; over the nodes' border at `place`.
  void add(std::uint32_t from, std::uint32_t to, double bytes) { add_parts(routes_.route(from, to), bytes); }
  void add_across(std::uint32_t place, double bytes) { add_parts(routes_.across(place), bytes); }
  /// Busy time of the busiest link, in ps.
  double busiest() const;
  /// The sum that prices are differences of.
  double total() const;
  /// Prices are relative to the busiest link from now on, and to the slowest route from rank 0 while all are idle.
  void rescale();

  double price(std::uint32_t from, std::uint32_t to, double bytes) const;
  double price_across(std::uint32_t place, double bytes) const { return price_of(routes_.across(place), bytes); }

  /// Neighbours of each rank in the tree that grows from `root` by the rank that is cheapest to reach, one byte per
  /// edge, with the tree's own load counted: a port that it has used once costs more the next time. (With fixed prices
  /// this would be Prim's minimum spanning tree.) Cost: ranks^2, and a price anew for each pair that shares a link with
  /// an edge of the tree.
  std::vector<std::vector<std::uint32_t>> cheapest_tree(std::uint32_t root, TreeUse use);

 private:
  void add_parts(std::span<const RankRoutes::Part> parts, double bytes);
  double price_of(std::span<const RankRoutes::Part> parts, double bytes) const;

  struct Grower;
  const RankRoutes& routes_;
  std::vector<double> busy_, now_;  ///< per link: ps, and its part of total()
  double per_scale_ = 1;
  std::vector<std::size_t> pairs_begin_;  ///< per link: its run in pairs_
  std::vector<std::uint32_t> pairs_;      ///< from x ranks + to
};

/// Takes each unit out in turn and puts `cheapest(unit)` in its place where `fits` and the sum of all prices falls.
/// `load(unit, sign)` puts one in (1) or takes it out (-1). True where one was replaced.
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

/// Appends `one`, of weight 1; where `same` holds for one that is there, that one weighs more instead.
template <typename Weighted, typename Same>
void add_or_weigh(std::vector<Weighted>& found, Weighted one, Same same) {
  const auto known = std::find_if(found.begin(), found.end(), same);
  if (known == found.end())
    found.push_back(std::move(one));
  else
    ++known->weight;
}

}  // namespace busbar
