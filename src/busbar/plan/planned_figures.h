// Figures of a planned layout that follow from its step.
#pragma once

#include "busbar/plan/search.h"
#include "busbar/step/train_run.h"

namespace busbar {

double usd_of(const TrainRun& machine, const PlannedLayout& layout);  ///< per step; 0: the machine has no price
double mfu_of(const TrainRun& machine, const PlannedLayout& layout);

}  // namespace busbar
