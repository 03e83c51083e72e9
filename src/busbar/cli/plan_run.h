// A search for a layout: what `busbar plan` asks, and all data of its report.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "busbar/cli/fit_changes.h"
#include "busbar/cli/request_line.h"
#include "busbar/cli/tie_measurement.h"
#include "busbar/plan/search.h"
#include "busbar/step/train_run.h"

namespace busbar {

/// Lists as typed: "1,2,4", "0..3"; empty: everything.
struct PlanLists {
  std::string tp, pp, vpp, dp, cp, ep, micro_batch, zero, recompute, schedule, order;
};
/// Errors name the flag.
Result<PlanSpace> read_space(const PlanLists& lists, LayoutSpec base);

struct PlanRun {
  TrainRun machine;  ///< opened, without a layout
  StepRequest request;
  Plan plan;
  Bytes capacity{0};
  double seconds = 0;  ///< of the search
  int status = 0;      ///< exit status: 130 or 143 if a signal ended the search, 1 if nothing fits
  /// Nothing fits: plan.layouts is empty, plan.least has a step, and these changes would make a layout fit.
  std::vector<FitChange> would_fit{};
  /// The Pareto front of time and memory, the fastest first: of the layouts timed in `plan` and, if asked for, in
  /// searches with less memory. All layouts use all GPUs, so money follows time.
  std::vector<PlannedLayout> front{};
  bool front_proven = false;  ///< for every layout of the space a row is as fast with at most kFrontSlack its memory
  /// Of the layouts after the first that are too close to it: what decides between each and the first.
  std::vector<std::optional<TieMeasurement>> tied{};
  /// The band of their difference: two layouts of one job share most of a prediction's error (docs/models/plan.md).
  double tie_percent() const { return machine.band.layouts_percent; }
  double tie_s() const { return (1 + tie_percent() / 100) * plan.layouts.front().step.step_time.in_s(); }
};
constexpr double kFrontSlack = 1.05;

struct PlanEffort {
  double within_s = 0;        ///< the search stops after so long with the best so far; 0: when it is complete
  bool whole_front = false;   ///< also search for the fastest layout with less and less memory
  std::uint32_t threads = 1;  ///< change nothing but the time that the search takes
};
/// Errors: kInvalid when no layout divides the GPUs, the model and the batch.
Result<PlanRun> run_plan(StepRequest request, Scenario scenario, const PlanLists& lists, const TrainAsk& ask,
                         const PlanEffort& effort);

/// What follows "29 layouts" on a terminal: " timed, the best takes 5.31 s; at most 7.7 % less is possible".
std::string progress_words(const PlanProgress& progress);

/// Whether a flag or a file gave a degree or another key that a search chooses.
bool names_a_layout(const LayoutSpec& layout);

/// How many layouts plan_default() times at most. A limit on layouts instead of time: the same command prints the same
/// bytes everywhere. Above 65,536 GPUs one takes a minute. With offload more: bounds order such layouts less well,
/// because copies of different stages meet.
constexpr std::size_t most_timed_by_default(std::uint32_t gpus, const LayoutSpec& layout) {
  return gpus > 65536 ? 1 : layout.offload_optimizer || layout.offload_activations ? 8 : 4;
}
struct DefaultPlan {
  LayoutSpec layout;          ///< resolved: the default one, or the fastest that was timed
  std::string because;        ///< why it is not the default one; empty: it is
  bool none_fits = false;     ///< `layout` is the one that needs least memory
  std::string flags() const;  ///< to add to the command for the same layout
};
/// The layout of a step for which none was given. Without a global batch it is the usual one.
/// Errors: those of resolve_layout() when no layout divides.
Result<DefaultPlan> plan_default(const TrainRun& machine);

/// For a step of `machine` on `gpus` GPUs: the fastest of the first `timed` layouts of a search with the schedules that
/// every framework has. `go_on`: as in PlanAsk. Errors: as run_plan().
Result<LayoutSpec> plan_briefly(const TrainRun& machine, std::uint32_t gpus, std::size_t timed,
                                const std::function<bool()>& go_on);

/// The same for any space, with its step.
Result<PlannedLayout> plan_fastest(const TrainRun& machine, std::uint32_t gpus, const PlanSpace& space,
                                   std::size_t timed, const std::function<bool()>& go_on);

/// The step of a scenario without a layout: in the default one or, where that cannot run, in one that a search finds.
Result<TrainRun> run_without_layout(Scenario scenario, const TrainAsk& ask);
/// That, if `open`, or step::predict(), as a NamedTask.
Result<TrainRun> run_named_step(Scenario scenario, const TrainAsk& ask, bool open);

/// Which part of the step made a layout slower than the best, in words.
std::string why_lost(const PlannedLayout& layout, const PlannedLayout& best);

}  // namespace busbar
