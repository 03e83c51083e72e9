// The runs of all channels and groups that are one step of a call.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "busbar/lowering/internal/hop_times.h"
#include "busbar/lowering/internal/ring_times.h"
#include "busbar/lowering/internal/run_router.h"
#include "busbar/lowering/simplification.h"

namespace busbar::lowering {

/// They run at the same time: a send of a ring, a tree, a chain or switches that reduce waits for the sends of the
/// others on its links. So these runs are routed together, and then timed one by one. Runs of halving and similar
/// algorithms are routed one by one, because each of their rounds crosses other links.
class StepRuns {
 public:
  StepRuns() = default;
  StepRuns(const StepRuns&) = delete;  // loads go back to their work space once
  ~StepRuns();
  /// Routes the runs of step `step` that are routed together. `run` is work space and outlives this.
  Status route(const PlannedCall& plan, std::size_t step, RunRouter& router, HopTimes& hop_times, RingTimes& ring_times,
               OpenRun& run);
  /// Makes `run` the run `of` of channel `channel`, which is routed now if it was not before. Pre: not taken before.
  Status open(const PlannedCall& plan, const GroupRun& of, std::size_t channel, RunRouter& router, RunTimes& times,
              OpenRun& run);
  /// Bytes of all runs of the step together; null where they are not known, or of one run only.
  const RunLoads* loads() const { return together_ ? &*loads_ : nullptr; }
  /// What is simplified in the runs that are routed together.
  const Simplifications& simplified() const { return simplified_; }
  /// Per group of ranks of the call and group of the family; empty: routed one by one.
  std::span<RoutedRun> routed(std::size_t channel) { return routed_[channel]; }

 private:
  std::vector<RunLoads>* spare_ = nullptr;  ///< from which loads_ came
  std::optional<RunLoads> loads_{};
  bool together_ = false;
  Simplifications simplified_{};
  std::vector<std::vector<RoutedRun>> routed_{};  ///< per channel
};

/// The first chunks of a pipeline of nothing but trees and chains, followed hop by hop through all steps. Returns how
/// many were followed, 1 where that is too much work or other phases are among them. Appends to `end_ps` when the last
/// of them is there, per group of ranks of the call and channel.
std::uint32_t follow_pipeline(const PlannedCall& plan, std::span<StepRuns> steps, HopTimes& hop_times,
                              std::vector<double>& end_ps);

}  // namespace busbar::lowering
