// A measured step against the predicted one: which single cause would explain the difference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/base/context.h"
#include "busbar/base/result.h"
#include "busbar/step/train_run.h"

namespace busbar::step {

/// One cause alone, and the step with it.
struct GapCause {
  std::string what;              ///< "infiniband, nic-leaf at a rate of"; a setting in words
  std::optional<double> factor;  ///< that a rate or speed would have to have, of the described one; none: a setting
  double step_time_s = 0;        ///< with the cause alone
  double explained_percent = 0;  ///< of the gap
  std::string hint;              ///< a usual fault with about this factor; empty: none
};

struct Gap {
  double measured_s = 0, expected_s = 0;  ///< expected: waiting for the slowest GPU included
  double gap_percent = 0;                 ///< of the expected time
  bool in_band = false;                   ///< the band of the prediction holds the measurement
  std::vector<GapCause> causes;  ///< those that explain the gap by the smallest change first; none if not slower
};
/// Percent of the gap: what explains less is no cause by itself.
inline constexpr double kExplains = 80;

/// Runs the step again with one rate lowered or one setting changed at a time. Precondition: measured above 0.
Result<Gap> explain_gap(const TrainRun& run, Duration measured, const Context& context);

}  // namespace busbar::step
