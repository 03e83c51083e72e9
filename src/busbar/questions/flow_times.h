// Completion times of many flows: by size, and as a cumulative distribution.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/base/units.h"
#include "busbar/predict/penalties.h"

namespace busbar::questions {

struct TimedFlow {
  std::uint64_t bytes = 0;
  double fct_us = 0;
  double slowdown = 1;  ///< fct divided by the time of the same flow alone
};

struct FctQuantiles {
  double mean = 0, p50 = 0, p99 = 0;
};
const Record& record_of(const FctQuantiles*);

struct CdfPoint {
  double percent = 0, fct_us = 0;
};
const Record& record_of(const CdfPoint*);

/// Of a class of sizes with flows.
struct FctOfSize {
  std::uint64_t from_bytes = 0;
  std::optional<std::uint64_t> to_bytes;
  std::uint64_t flows = 0;
  FctQuantiles fct_us;
  std::optional<FctQuantiles> slowdown;
  std::string name;  ///< for views only: "below 30 kB"
};
const Record& record_of(const FctOfSize*);

struct MeanTime {
  double mean = 0;
};
const Record& record_of(const MeanTime*);

struct PenaltiesResult {
  std::string transport, lb;
  double load = 0, crossing = 1, cable_bytes = 0, size_scale = 1;
  std::vector<FctQuantiles> by_size;
  std::string source;
};
const Record& record_of(const PenaltiesResult*);
PenaltiesResult penalties_result(const predict::Penalties& penalties);

/// Distributions of flows that have ended.
class FlowTimes {
 public:
  FlowTimes() = default;
  explicit FlowTimes(std::vector<TimedFlow> flows);
  /// So many percent of the flows took at most so long.
  std::vector<CdfPoint> cdf() const;
  /// `penalties` (null: none) multiply the times of classes, which then have no slowdown.
  std::vector<FctOfSize> by_size(const predict::Penalties* penalties = nullptr) const;
  /// The mean over all flows of these classes.
  double mean_us(const std::vector<FctOfSize>& by_size) const;
  /// Enough flows for a table of classes.
  bool many() const { return flows_.size() >= kLeast; }
  /// Every flow in order of its time: fct_us,percent,slowdown,bytes.
  std::string csv() const;
  const std::vector<TimedFlow>& flows() const { return flows_; }  ///< by ascending fct

 private:
  static constexpr std::size_t kLeast = 100;
  std::vector<TimedFlow> flows_;
};

/// Of a run's flows that have ended. `alone`: how long one takes alone, of its outcome.
template <class Run, class Alone>
FlowTimes times_of(const Run& run, const Alone& alone) {
  std::vector<TimedFlow> out;
  for (const std::uint32_t f : run.by_fct) {
    const auto& x = run.result.flows[f];
    out.push_back({count(run.named.list.flows[f].bytes), x.fct.in_us(), x.fct.in_us() / alone(x).in_us()});
  }
  return FlowTimes(std::move(out));
}

}  // namespace busbar::questions
