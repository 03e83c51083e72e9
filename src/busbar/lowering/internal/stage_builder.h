// Builds a stage: each run becomes a fluid.
#pragma once

#include <cmath>

#include "busbar/lowering/components.h"
#include "busbar/lowering/internal/run_loads.h"

namespace busbar::lowering {

/// Use: cross() for every connection of a run, emit() for the run, ..., finish().
class StageBuilder {
 public:
  StageBuilder(const CapacityTable& table, const Shortcuts& shortcuts)
      : table_(table), components_(shortcuts), loads_(table.counts()), least_ps_(table.counts(), INFINITY) {
    components_.resize(table.counts());
  }

  /// Begins a new stage; what an unfinished one held is forgotten.
  void begin(std::uint32_t step);
  Stage
      stage;  ///< phase and latency_ps are the caller's; latency_ps: paid before the bytes, 0: to be found by finish()

  /// A connection of `latency_ps` crosses `c`.
  void cross(routing::CapacityId c, double latency_ps) {
    double& least = least_ps_[c];
    if (least == INFINITY) crossed_.push_back(c);
    least = std::min(least, latency_ps);
  }
  /// Makes a fluid of `loads` and clears them. `bytes`: of its busiest connection. `alone_ps`: its time with its links
  /// for itself; the fluid's is longer where its last byte arrives later.
  void emit(RunLoads& loads, double bytes, double alone_ps);
  /// The same for connections that do not wait for each other, whose latency is Stage::latency_ps.
  void emit_free(RunLoads& loads, double bytes, double alone_ps);
  /// Loads, latency and components. A stage without fluids stays empty.
  /// The least latency of what crosses the link with the largest load is paid before the bytes, not at the same time:
  /// otherwise fluids that wait for a shared link would end when their last byte leaves it, and not when it arrives.
  /// Where another link has a larger sum of load and latency, what crosses it takes that long.
  Stage finish();

 private:
  const CapacityTable& table_;
  ComponentSplitter components_;
  RunLoads loads_;                            ///< of the whole stage, zero but in finish()
  routing::PerCapacity<double> least_ps_;     ///< least latency of the connections that cross it; infinity: none
  std::vector<routing::CapacityId> crossed_;  ///< those with a least latency
};

}  // namespace busbar::lowering
