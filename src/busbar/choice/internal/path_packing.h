// Paths from rank to rank over relays, chosen so that the busiest link is as little busy as the search can achieve:
// gather, scatter and all_to_all.
//
// Method: as in packing.h with paths as units, equally many per pair. A path is the cheapest with up to three sends.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/choice/internal/rank_routes.h"
#include "busbar/collectives/forest.h"

namespace busbar::choice {

struct PathPacking {
  std::vector<collectives::RankPath> paths;
  double busiest_ps_per_unit = 0;  ///< busy time of the busiest link per byte that a pair exchanges
};

/// The best packings found with 1, 2 and 4 paths per pair, each only if better than all with fewer paths. Empty if a
/// rank cannot be reached, and for other collectives. Cost: paths x ranks^2 x links of a route, five times each; gather
/// over 64 ranks 0.1 s, all_to_all over 16 ranks 0.05 s.
std::vector<PathPacking> pack_paths(const RankRoutes& routes, collectives::Collective op, std::uint32_t root);

}  // namespace busbar::choice
