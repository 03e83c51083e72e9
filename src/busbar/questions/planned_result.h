// Layouts that a search timed, and changes that make a layout fit, in results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/plan/fit_changes.h"
#include "busbar/plan/search.h"
#include "busbar/questions/layout_result.h"
#include "busbar/questions/step_result.h"

namespace busbar::questions {

struct PlannedStep {
  LayoutResult layout;
  double step_time_s = 0;
  std::int64_t step_time_ps = 0;
  double balanced_step_time_s = 0;
  double mfu = 0;
  std::uint64_t memory_bytes = 0;
  double usd_per_step = 0;
  StepSeconds breakdown_s;
};
const Record& record_of(const PlannedStep*);

PlannedStep planned_result(const step::TrainRun& machine, const plan::PlannedLayout& layout);

struct FitResult {
  std::string what, flags;
  double step_time_s = 0;
  std::uint64_t memory_bytes = 0, capacity_bytes = 0;
  LayoutResult layout;
};
const Record& record_of(const FitResult*);

std::vector<FitResult> fit_results(const std::vector<plan::FitChange>& changes);

}  // namespace busbar::questions
