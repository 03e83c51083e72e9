// The fluids of a stage that shares links with other calls, those of equal rate taken as one.
#pragma once

#include <optional>
#include <vector>

#include "busbar/engine/stage_solver.h"
#include "busbar/lowering/components.h"

namespace busbar {

/// Merges fluids whose rates are equal within 2 % while their call is alone. One fluid then loads the links of all of
/// them and takes the time alone of the slowest.
/// Result: alone, the merged stage takes as long as the stage: the slowest fluids have the least rate, they are the
/// only ones on a link that is full, and keep that rate to the end. Next to other calls, what slows one fluid slows all
/// that it was merged with.
class StageMerger {
 public:
  StageMerger(StageSolver& solver, const CapacityTable& table);
  /// None where fluids carry different bytes, where fewer than Shortcuts::fluids_apart do, and where no two rates are
  /// equal.
  std::optional<Stage> merged(const Stage& stage);

 private:
  std::vector<double> rates_alone(const Stage& stage) const;
  StageSolver& solver_;
  const CapacityTable& table_;
  ComponentSplitter splitter_;
  PerCapacity<double> load_;  ///< 0 between calls
};

}  // namespace busbar
