// What would make a step shorter: settings of the framework and faster links, each tried alone.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/long_run.h"
#include "busbar/report/document.h"
#include "busbar/step/train_run.h"

namespace busbar {

struct Lever {
  std::string what;  ///< "TP overlapped with GEMMs"
  std::string flag;  ///< what to type for it; empty: a change of the machine
  Duration step;     ///< the step with it
  double saved_s(const TrainRun& run) const { return run.step.step_time.in_s() - step.in_s(); }
  double usd_per_day(const TrainRun& run) const;  ///< for the same work; 0 without a price
};

/// Runs the step again with one change at a time, on fluids. Changes that do not fit in memory, that the layout does
/// not allow or that save less than 0.5 % are left out. The largest saving first.
Result<std::vector<Lever>> find_levers(const TrainRun& run, LongRun& watch);

/// [{what, flag, step_time_s, saved_s, saved_usd_per_day}]
Json levers_json(const TrainRun& run, const std::vector<Lever>& levers);
Table lever_table(const TrainRun& run, const std::vector<Lever>& levers, std::size_t most);

}  // namespace busbar
