// Figures of a planned layout that follow from its step.
#pragma once

#include "busbar/plan/search.h"
#include "busbar/step/train_run.h"

namespace busbar::plan {

double usd_of(const step::TrainRun& machine, const PlannedLayout& layout);  ///< per step; 0: the machine has no price
double mfu_of(const step::TrainRun& machine, const PlannedLayout& layout);

}  // namespace busbar::plan
