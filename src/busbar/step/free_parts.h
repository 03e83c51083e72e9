// What each part of a step is worth: the step once more, with this part costing nothing.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/context.h"
#include "busbar/base/result.h"
#include "busbar/step/train_run.h"

namespace busbar::step {

struct FreePart {
  std::string part;  ///< of the breakdown: "exposed_tp"
  double step_time_s = 0, saved_s = 0;
};

/// For each part that the step has, on fluids: its work takes no time, and its messages no links. A bubble is no work
/// and is left out. The savings need not add up to the step: without one part, another may hide or show more.
Result<std::vector<FreePart>> find_free_parts(const TrainRun& run, const Context& context);

}  // namespace busbar::step
