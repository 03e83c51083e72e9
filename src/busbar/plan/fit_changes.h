// What would make a step fit that does not: changes of the layout or the machine, each tried by the same model.
#pragma once

#include <string>
#include <vector>

#include "busbar/plan/space.h"
#include "busbar/step/train_run.h"

namespace busbar::plan {

struct FitChange {
  std::string what;             ///< "recompute full instead of selective"
  std::string flags;            ///< to add to the command
  workload::LayoutSpec layout;  ///< resolved
  workload::MemoryUse memory;
  Bytes capacity{0};  ///< of a GPU of the changed machine
  Duration step;
};
constexpr std::size_t kFitChanges = 3;  ///< that a report shows, at most

/// For the layout of `run`, which does not fit: one key changed first, by the time of the step, then two and three
/// (fitting.h); where these are fewer than kFitChanges, more servers, and other GPUs of the same generation. Where no
/// layout was given and none fits: searches_that_fit().
Result<std::vector<FitChange>> changes_that_fit(const step::TrainRun& run, const step::TrainAsk& ask);

/// For a space of which no layout fits: the fastest one of each way to offload, by the time of the step; then more
/// servers, and other GPUs. A search ends after a few timed layouts, as in plan_default().
Result<std::vector<FitChange>> searches_that_fit(const step::TrainRun& machine, const step::TrainAsk& ask,
                                                 const PlanSpace& space);

}  // namespace busbar::plan
