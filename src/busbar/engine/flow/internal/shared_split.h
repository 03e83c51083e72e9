// Calls in progress at one time under adaptive routing: one split that serves them all.
#pragma once

#include <span>
#include <vector>

#include "busbar/engine/flow/internal/split_cost.h"
#include "busbar/lowering/lowering.h"

namespace busbar::engine {

/// A stage of a call that shares links with others.
struct SharedStage {
  const program::CollectiveCall* call;
  const lowering::Stage* own;  ///< split as if it were alone
};

/// The stages as the best split for all of them together has them: the fewest times slower, added up, than if the
/// cables between switches had room without end. Empty where splits of their own serve them as well. Same fluids in the
/// same order as in `own`, on other links or with other weights. Cost: 5 to 25 lowerings of each.
std::vector<lowering::Stage> split_together(lowering::Lowering& lowering, std::span<const SharedStage> stages);

}  // namespace busbar::engine
