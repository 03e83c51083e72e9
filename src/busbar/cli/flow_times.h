// Completion times of many flows: by size, and as a cumulative distribution.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/result.h"
#include "busbar/predict/penalties.h"
#include "busbar/report/document.h"

namespace busbar {

struct TimedFlow {
  std::uint64_t bytes = 0;
  double fct_us = 0;
  double slowdown = 1;  ///< fct divided by the time of the same flow alone
};

/// Distributions of flows that have ended.
class FlowTimes {
 public:
  explicit FlowTimes(std::vector<TimedFlow> flows);
  /// "fct_cdf": [{percent, fct_us}]: so many percent of the flows took at most so long; "fct_by_size": per class of
  /// sizes with flows {from_bytes, to_bytes, flows, fct_us{mean, p50, p99}, slowdown{mean, p50, p99}}. `penalties`
  /// (null: none) multiply the times of classes, which then have no slowdown; "fct_with_penalties_us" is the mean of
  /// all flows.
  void add_to(Json& report, const Penalties* penalties = nullptr) const;
  /// fct_by_size as a table; it says something from kLeast flows on.
  Table table(const Penalties* penalties = nullptr) const;
  /// The share of flows that took at most so long. Fewer than two: an empty drawing.
  Drawing draw() const;
  bool many() const { return flows_.size() >= kLeast; }
  /// Every flow in order of its time: fct_us,percent,slowdown,bytes.
  Status write_csv(const std::string& file) const;

 private:
  static constexpr std::size_t kLeast = 100;
  std::vector<TimedFlow> flows_;  ///< by ascending fct
};

}  // namespace busbar
