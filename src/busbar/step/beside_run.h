// Variants of a step, after their runs.
#pragma once

#include "busbar/step/train_run.h"
#include "busbar/step/train_variants.h"

namespace busbar::step {

/// `run.program` etc. are of its own machine and layout.
struct BesideRun {
  TrainVariant variant;
  TrainRun run;
};
/// Without timeline and relief.
Result<BesideRun> run_beside(TrainVariant variant, TrainAsk ask);

}  // namespace busbar::step
