#include "busbar/step/beside_run.h"

#include <utility>

namespace busbar::step {

Result<BesideRun> run_beside(TrainVariant variant, TrainAsk ask) {
  ask.timeline = ask.relief = false;
  ask.fold = variant.fold;
  Result<TrainRun> run = step::predict(variant.scenario, ask);
  if (!run.ok()) return with_change(run.error(), variant.change);
  return BesideRun{std::move(variant), std::move(*run)};
}

}  // namespace busbar::step
