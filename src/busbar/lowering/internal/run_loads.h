// What one run loads capacities with.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "busbar/routing/capacity.h"

namespace busbar::lowering {

/// Bytes per capacity, of the few that a run crosses.
/// Invariant: on() are the capacities with bytes, in the order in which they were first loaded.
class RunLoads {
 public:
  /// The loads by themselves, to be put back later.
  using Kept = std::vector<std::pair<routing::CapacityId, double>>;

  RunLoads() = default;
  explicit RunLoads(const routing::CapacityCounts& counts) : bytes_(counts, 0.0) {}
  void add(routing::CapacityId c, double bytes) {
    double& b = bytes_[c];
    if (b == 0) on_.push_back(c);
    b += bytes;
  }
  double operator[](routing::CapacityId c) const { return bytes_[c]; }
  const std::vector<routing::CapacityId>& on() const { return on_; }
  void clear() {
    for (const routing::CapacityId c : on_) bytes_[c] = 0;
    on_.clear();
  }
  /// Returns the loads and clears them.
  Kept take() {
    Kept out;
    out.reserve(on_.size());
    for (const routing::CapacityId c : on_) out.emplace_back(c, bytes_[c]);
    clear();
    return out;
  }
  /// The largest load / rate, at least `ps`.
  template <typename RateOf>
  double longest_ps(double ps, const RateOf& rate_of) const {
    for (const routing::CapacityId c : on_) ps = std::max(ps, bytes_[c] / rate_of(c));
    return ps;
  }

 private:
  routing::PerCapacity<double> bytes_;
  std::vector<routing::CapacityId> on_;
};

/// One of `spare`, or a new one.
inline RunLoads spare_loads(std::vector<RunLoads>& spare, const routing::CapacityCounts& counts) {
  if (spare.empty()) return RunLoads(counts);
  RunLoads out = std::move(spare.back());
  spare.pop_back();
  return out;
}

}  // namespace busbar::lowering
