// Trees from every rank at the same time, chosen so that the busiest link is as little busy as the search can achieve:
// all_gather, reduce_scatter and all_reduce, also between equal nodes.
//
// Method: as in packing.h with trees as units, the same number for every root. In an all_reduce a unit is one tree up
// and another down, and any rank may be its root.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/choice/internal/rank_routes.h"
#include "busbar/collectives/forest.h"

namespace busbar::choice {

struct ForestPacking {
  std::vector<collectives::ForestTree> trees;
  double busiest_ps_per_byte = 0;  ///< busy time of the busiest link per byte of S
};

struct ForestRequest {
  /// all_gather: trees down; reduce_scatter: up; all_reduce: both.
  collectives::Collective op{};
  std::uint32_t nodes = 1;       ///< number of nodes of the routes; each tree's share goes around rings of all nodes
  std::uint32_t most_trees = 1;  ///< but at least one per rank
  double per_depth = 0;          ///< see TreeUse
  bool any_root = false;         ///< if false, every rank is the root of equally many trees
};

/// The best packings found with 1, 2, 3, 4, 6, 8 and 12 trees per rank; with any roots, with 2, 4, 8, 16 and 32 trees
/// in all. One tree per rank is always included, others only if better than all with fewer trees. Above 32 ranks: one
/// per rank, or with any roots 4, 8 and 32. Empty if a rank cannot be reached. Cost: trees x ranks^2 x pairs per link,
/// five times each; 8 ranks 5 ms, 64 ranks 0.3 s.
std::vector<ForestPacking> pack_forests(const RankRoutes& routes, const ForestRequest& request);

}  // namespace busbar::choice
