// What one split of adaptive routing costs transfers that compete: how much slower they are than if only the machines
// at their ends limited them.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "busbar/engine/stage_solver.h"

namespace busbar::engine {

struct SplitOutcome {
  /// Sum over stages of (rate with unlimited cables between switches) / (fair rate): at least the number of stages.
  double cost = 0;
  std::vector<double> load;  ///< per directed link: load if all sent at the unlimited rate / link rate
};

/// The cost of stages whose fluids end together.
class SplitCost {
 public:
  /// `rate`: bytes per ps; `capacities`: of all that Stage::on may name.
  SplitCost(const topology::Topology& topology, const routing::CapacityCounts& capacities,
            std::function<double(routing::CapacityId)> rate)
      : topology_(topology), solver_(capacities), roomy_(capacities), rate_(std::move(rate)) {}

  /// Finds what each fluid could send if cables between switches were unlimited. Call it before of(), whose stages must
  /// have as many fluids in the same order.
  void measure_demand(std::span<const lowering::Stage* const> stages);
  SplitOutcome of(std::span<const lowering::Stage* const> stages);

 private:
  const topology::Topology& topology_;
  StageSolver solver_, roomy_;  ///< roomy_: where cables between switches are unlimited
  std::function<double(routing::CapacityId)> rate_;
  std::vector<double> demand_;
};

}  // namespace busbar::engine
