// A search for a layout: what `busbar plan` asks, and all data of its report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/context.h"
#include "busbar/plan/fit_changes.h"
#include "busbar/plan/search.h"
#include "busbar/plan/tie_measurement.h"
#include "busbar/step/train_run.h"

namespace busbar::plan {

struct PlanRun {
  step::TrainRun machine;                ///< opened, without a layout
  std::vector<step::TrainRun> spared{};  ///< the same with spares in each server or rack
  Plan plan;
  /// The machine as a layout uses it.
  const step::TrainRun& machine_of(const PlannedLayout& l) const { return l.use == 0 ? machine : spared[l.use - 1]; }
  Bytes capacity{0};            ///< of a GPU, less the headroom
  predict::Band memory_band{};  ///< of the memory of a layout
  double gap = 0, headroom = 0;
  double seconds = 0;  ///< of the search
  /// Nothing fits: plan.layouts is empty, plan.least has a step, and these changes would make a layout fit.
  std::vector<FitChange> would_fit{};
  /// The Pareto front of time and memory, the fastest first: of the layouts timed in `plan` and, if asked for, in
  /// searches with less memory. A layout pays for its spares, so money follows time.
  std::vector<PlannedLayout> front{};
  bool front_proven = false;  ///< for every layout of the space a row is as fast with at most kFrontSlack its memory
  /// Of the layouts after the first that are too close to it: what decides between each and the first.
  std::vector<std::optional<TieMeasurement>> tied{};
  /// How much slower than the best the fastest may be predicted: layouts of one job share most of a prediction's error
  /// (docs/models/plan.md).
  double tie_percent() const { return machine.band.tie_percent; }
  /// Whether a layout fits, or does not, by less than the error of its memory.
  bool within_memory_error(const PlannedLayout& l) const;
  double tie_s() const { return (1 + tie_percent() / 100) * plan.layouts.front().step.step_time.in_s(); }
};
constexpr double kFrontSlack = 1.05;

struct PlanEffort {
  double within_s = 0;        ///< the search stops after so long with the best so far; 0: when it is complete
  bool whole_front = false;   ///< also search for the fastest layout with less and less memory
  double gap = 0;             ///< 0.03: stop when no layout is more than 3 % faster
  double headroom = 0;        ///< share of the memory of a GPU that stays free
  std::uint32_t threads = 1;  ///< change nothing but the time that the search takes
};
/// Errors: kInvalid when no layout divides the GPUs, the model and the batch.
Result<PlanRun> run_plan(const spec::Scenario& scenario, PlanSpace space, const step::TrainAsk& ask,
                         const PlanEffort& effort, const Context& context);

/// What follows "29 layouts" on a terminal: " timed, the best takes 5.31 s; at most 7.7 % less is possible".
std::string progress_words(const PlanProgress& progress);

/// Which part of the step made a layout slower than the best, in words.
std::string why_lost(const PlannedLayout& layout, const PlannedLayout& best);

}  // namespace busbar::plan
