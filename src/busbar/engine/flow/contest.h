// What one split of adaptive routing comes to where transfers compete: fair rates, and how much slower than by their
// own machines alone.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "busbar/engine/stage_solver.h"

namespace busbar {

struct ContestOutcome {
  /// Sum over stages of what they could send if the network had room / what they can: their number at least.
  double cost = 0;
  std::vector<double> load;  ///< per directed link: what would cross it if all sent as fast as they could / its rate
};

/// Among stages, the fluids of each of which end together.
class Contest {
 public:
  /// `rate`: bytes per ps of a link or limit, see Stage::link; `capacities`: all of those are below.
  Contest(const Topology& topology, std::uint32_t capacities, std::function<double(LinkId)> rate)
      : topology_(topology), solver_(capacities), roomy_(capacities), rate_(std::move(rate)) {}

  /// What each fluid could send if only cables between switches had room without end: their fair rates then. To be
  /// called before outcome(), whose stages must have as many fluids in the same order.
  void ask(std::span<const Stage* const> stages);
  ContestOutcome outcome(std::span<const Stage* const> stages);

 private:
  const Topology& topology_;
  StageSolver solver_, roomy_;  ///< roomy_: where cables between switches have room without end
  std::function<double(LinkId)> rate_;
  std::vector<double> demand_;
};

}  // namespace busbar
