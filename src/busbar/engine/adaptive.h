// Adaptive routing in fluids: the split over equal ways that evens the loads of what is routed together.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "busbar/routing/router.h"

namespace busbar {

/// Looks for the split that costs least among a few: the equal one, then the one to start from where one is given, then
/// each leaned away from the busy links of the one before. The best is never worse than the equal split.
class SplitSearch {
 public:
  SplitSearch() = default;
  explicit SplitSearch(Lean start) : start_(std::move(start)) {}

  /// To be tried next.
  const Lean& lean() const { return lean_; }
  /// Whether enough was tried: some 4 where nothing can be gained, 24 at most.
  bool over() const { return trials_ >= kMostTrials || trials_ - last_ > kPatience; }
  /// What lean() came to: what is to be small, above 0, and how busy each directed link was.
  void learn(const Topology& topology, double cost, std::span<const double> load) {
    if (trials_ == 0 || cost < least_ * (1 - kWorthIt)) least_ = cost, best_ = lean_, last_ = trials_;
    if (++trials_ == 1 && !start_.empty())
      lean_ = std::move(start_);
    else
      lean_ = lean_away(topology, std::move(lean_), load);
  }
  const Lean& best() const { return best_; }
  /// Whether what was learned last is the best so far.
  bool improved() const { return trials_ == last_ + 1; }

 private:
  static constexpr int kMostTrials = 24, kPatience = 4;
  static constexpr double kWorthIt = 1e-4;
  Lean start_{}, lean_{}, best_{};
  double least_ = 0;
  int trials_ = 0, last_ = 0;
};

}  // namespace busbar
