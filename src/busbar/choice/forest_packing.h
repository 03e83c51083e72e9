// Trees from every rank side by side, such that the busiest link is as little busy as can be found: all_gather,
// reduce_scatter and all_reduce, also between equal nodes.
//
// Method: that of packing.h with trees as units, every rank the root of as many. In an all_reduce a unit is a tree up
// and another down, and any rank may be its root.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/choice/rank_routes.h"
#include "busbar/collectives/forest.h"

namespace busbar {

struct ForestPacking {
  std::vector<ForestTree> trees;
  double busiest_ps_per_byte = 0;  ///< busy time of the busiest link per byte of S
};

struct ForestWish {
  /// all_gather: trees down; reduce_scatter: up; all_reduce: both.
  Collective op{};
  std::uint32_t nodes = 1;       ///< that the routes stand for: each tree's share goes around rings of all of them
  std::uint32_t most_trees = 1;  ///< but one per rank in any case
  double per_depth = 0;          ///< of TreeUse
  bool any_root = false;         ///< else every rank is the root of as many trees
};

/// The best found with 1, 2, 3, 4, 6, 8 and 12 trees per rank, and with any roots with 2, 4, 8, 16 and 32 trees in all,
/// one per rank, and others only if better than all with fewer trees; above 32 ranks with one per rank, or with any 4,
/// 8 and 32. Empty where a rank cannot be reached. Cost: trees x ranks^2 x pairs per link, five times each; 8 ranks 5
/// ms, 64 ranks 0.3 s.
std::vector<ForestPacking> pack_forests(const RankRoutes& routes, const ForestWish& wish);

}  // namespace busbar
