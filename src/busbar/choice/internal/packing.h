// Several rings or trees at the same time, chosen so that the busiest link is as little busy as the search can
// achieve.
//
// Method: start with no unit and add units one at a time, each the cheapest one. The price of a link is the increase
// of the sum of (busy time)^12 over all links by one more use. Then take out each unit in turn and put the cheapest in
// its place, as long as that helps. A tree grows by the cheapest rank at a time, its own load counted. The cheapest
// ring is exact for up to 9 ranks (Held & Karp); above, runs of up to three ranks are moved (or-opt). Deterministic.
// Source: the scheme is packing by exponential prices, N. Garg, J. Konemann, "Faster and simpler algorithms for
// multicommodity flow and other fractional packing problems", SIAM J. Comput. 37(2), 2007, with whole units.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/choice/internal/rank_routes.h"
#include "busbar/collectives/builders.h"

namespace busbar::choice {

/// How the buffer travels: around rings or up and down trees.
enum class PackingShape : std::uint8_t { kRings, kTrees };

struct Packing {
  std::vector<std::vector<std::uint32_t>> orders;  ///< kRings: rank at each position, one per channel, root first
  std::vector<collectives::WeightedTree> trees;    ///< kTrees
  double busiest_ps_per_byte = 0;                  ///< busy time of the busiest link per byte of S

  std::size_t size() const { return orders.empty() ? trees.size() : orders.size(); }
};

/// The best packing found with 1, 2, 3, 4, 6, 8, 12, 16, 24 and 32 units; among equals the one with fewer units. Empty
/// if a rank cannot be reached, or if trees cannot do this collective. Cost: units x ranks^2 x links of a route, a few
/// times; 0.1 s for 64 ranks.
Packing pack(const RankRoutes& routes, collectives::Collective op, std::uint32_t root, PackingShape shape,
             std::uint32_t most_units);

}  // namespace busbar::choice
