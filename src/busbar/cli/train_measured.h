// A measured step against the predicted one: which single cause would explain the difference.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/long_run.h"
#include "busbar/report/document.h"
#include "busbar/step/train_run.h"

namespace busbar {

/// One cause alone, and the step with it.
struct GapCause {
  std::string what;      ///< "infiniband, nic-leaf at a rate of"; a setting in words
  double factor = 0;     ///< that a rate or speed would have to have, of the described one; 0: a setting, on or off
  std::string hint;      ///< a usual fault with about this factor; empty: none
  Duration step;         ///< with the cause alone
  double explained = 0;  ///< share of the gap in percent
};

struct Gap {
  Duration measured, predicted;  ///< predicted: waiting for the slowest GPU included
  bool in_band = false;          ///< the band of the prediction holds the measurement
  std::vector<GapCause> causes;  ///< those that explain the gap by the smallest change first; none if not slower
  double share() const { return measured.in_s() / predicted.in_s() - 1; }
};

/// Runs the step again with one rate lowered or one setting changed at a time. Precondition: measured above 0.
Result<Gap> explain_gap(const TrainRun& run, Duration measured, LongRun& watch);

/// `traced`: a trace follows, which says where the gap is; no single cause is named then.
Paragraph gap_verdict(const Gap& gap, bool traced);
Table gap_table(const Gap& gap);
Json gap_json(const Gap& gap);

}  // namespace busbar
