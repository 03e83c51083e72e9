// Adaptive routing in fluids: the split over equal ways that evens the loads of what is routed together.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "busbar/routing/router.h"

namespace busbar::lowering {

/// Whether the network may find a way around the cable: it joins two switches outside all servers.
inline bool between_switches(const topology::Topology& t, topology::LinkId l) {
  return t.block_of(t.from(l)) == kNone<topology::BlockId> && t.block_of(t.to(l)) == kNone<topology::BlockId>;
}

/// Looks for the split that costs least among a few: the equal one, then the one to start from where one is given, then
/// the best so far biased away from its busy links, in steps that grow while they help (the end may be a corner: a way
/// that is not taken at all) and start small again when they do not. The best is never worse than the equal split.
class SplitSearch {
 public:
  SplitSearch() = default;
  explicit SplitSearch(routing::SplitBias start) : start_(std::move(start)) {}

  /// To be tried next.
  const routing::SplitBias& bias() const { return bias_; }
  /// Whether enough was tried: 1 where nothing can be gained, 24 at most.
  bool over() const { return trials_ >= kMostTrials || power_ < kLeastPower; }
  /// Records the result of trying bias(): its cost, above 0; per directed link load / capacity, in any unit; and a cost
  /// that no split is below.
  void record(const topology::Topology& topology, double cost, std::span<const double> load, double least_possible) {
    improved_ = trials_ == 0 || cost < least_ * (1 - kWorthIt);
    if (improved_) {
      least_ = cost;
      best_ = bias_;
      load_.assign(load.begin(), load.end());
    }
    if (steered_) power_ = improved_ ? std::min(power_ * 2, kMostPower) : std::min(power_ / 3, kFirstPower);
    if (least_ <= least_possible * (1 + kWorthIt)) power_ = 0;
    steered_ = ++trials_ > 1 || start_.empty();
    if (over()) return;
    bias_ = steered_ ? routing::bias_away(topology, best_, load_, power_) : std::move(start_);
  }
  const routing::SplitBias& best() const { return best_; }
  /// Whether what was recorded last is the best so far.
  bool improved() const { return improved_; }

 private:
  static constexpr int kMostTrials = 24;
  static constexpr double kWorthIt = 1e-4, kFirstPower = 0.5, kLeastPower = 0.05, kMostPower = 64;
  routing::SplitBias start_{}, bias_{}, best_{};
  std::vector<double> load_{};
  double least_ = 0, power_ = kFirstPower;
  int trials_ = 0;
  bool improved_ = false, steered_ = false;  ///< steered_: whether bias() comes of bias_away()
};

}  // namespace busbar::lowering
