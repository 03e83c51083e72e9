// The fluids of a stage that shares links with other calls, those of equal rate taken as one.
#pragma once

#include <optional>
#include <vector>

#include "busbar/engine/stage_solver.h"
#include "busbar/lowering/components.h"

namespace busbar::engine {

/// Merges fluids whose rates are equal within 2 % while their call is alone. One fluid then loads the links of all of
/// them and takes the time alone of the slowest.
/// Result: alone, the merged stage takes as long as the stage: the slowest fluids have the least rate, they are the
/// only ones on a link that is full, and keep that rate to the end. Next to other calls, what slows one fluid slows all
/// that it was merged with.
class StageMerger {
 public:
  StageMerger(StageSolver& solver, const lowering::CapacityTable& table);
  /// None where fluids carry different bytes, where fewer than Shortcuts::fluids_apart do, and where no two rates are
  /// equal.
  std::optional<lowering::Stage> merged(const lowering::Stage& stage);

 private:
  std::vector<double> rates_alone(const lowering::Stage& stage) const;
  StageSolver& solver_;
  const lowering::CapacityTable& table_;
  lowering::ComponentSplitter splitter_;
  routing::PerCapacity<double> load_;  ///< 0 between calls
};

}  // namespace busbar::engine
