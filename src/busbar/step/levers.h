// What would make a step shorter: settings of the framework and faster links, each tried alone.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/context.h"
#include "busbar/base/result.h"
#include "busbar/step/train_run.h"

namespace busbar::step {

struct Lever {
  std::string what;  ///< "TP overlapped with GEMMs"
  std::string flag;  ///< what to type for it; empty: a change of the machine
  double step_time_s = 0, saved_s = 0;
  double saved_usd_per_day = 0;  ///< for the same work; 0 without a price
};

/// Runs the step again with one change at a time, on fluids. Changes that do not fit in memory, that the layout does
/// not allow or that save less than 0.5 % are left out. The largest saving first.
Result<std::vector<Lever>> find_levers(const TrainRun& run, const Context& context);

}  // namespace busbar::step
