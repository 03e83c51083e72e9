// The layout of a step for which none was given, and short searches for one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "busbar/base/context.h"
#include "busbar/plan/search.h"
#include "busbar/step/train_run.h"

namespace busbar {

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
Result<DefaultPlan> plan_default(const TrainRun& machine, const Context& context);

/// For a step of `machine` on `gpus` GPUs: the fastest of the first `timed` layouts of a search with the schedules that
/// every framework has. `go_on`: as in PlanAsk. Errors: as run_plan().
Result<LayoutSpec> plan_briefly(const TrainRun& machine, std::uint32_t gpus, std::size_t timed,
                                const std::function<bool()>& go_on);

/// The same for any space, with its step.
Result<PlannedLayout> plan_fastest(const TrainRun& machine, std::uint32_t gpus, const PlanSpace& space,
                                   std::size_t timed, const std::function<bool()>& go_on);

/// The step of a scenario without a layout: in the default one or, where that cannot run, in one that a search finds.
Result<TrainRun> run_without_layout(Scenario scenario, const TrainAsk& ask, const Context& context);

}  // namespace busbar
