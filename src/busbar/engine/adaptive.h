// Adaptive routing in fluids: the split over equal ways that evens the loads of what is routed together.
#pragma once

#include <vector>

#include "busbar/routing/router.h"

namespace busbar {

/// What one split comes to.
struct SplitTrial {
  double cost = 0;              ///< what is to be small, above 0
  std::vector<double> load_ps;  ///< per directed link: how long it takes to carry what it was given
};

/// Leans `router` as the best of a few splits demands, each leaned away from the busy links of the one before. The
/// first is the equal split, so the best is never worse. `trial`: () -> Result<SplitTrial>, routes anew. Cost: some 4
/// trials where nothing can be gained, 24 at most. On an error the router leans nowhere.
template <typename Trial>
Status lean_well(const Router& router, Trial&& trial) {
  constexpr int kMostTrials = 24, kPatience = 3;
  constexpr double kWorthIt = 1e-4;
  Lean lean, best;
  double least = 0;
  router.set_lean({});
  for (int i = 0, last = 0; i < kMostTrials && i - last <= kPatience; ++i) {
    auto found = trial();
    if (!found.ok()) {
      router.set_lean({});
      return found.error();
    }
    if (i == 0 || found->cost < least * (1 - kWorthIt)) least = found->cost, best = lean, last = i;
    lean = lean_away(router.topology(), std::move(lean), found->load_ps);
    router.set_lean(lean);
  }
  router.set_lean(std::move(best));
  return {};
}

}  // namespace busbar
