// The layout of a step for which none was given, and short searches for one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "busbar/base/context.h"
#include "busbar/plan/search.h"
#include "busbar/step/train_run.h"

namespace busbar::plan {

/// Whether a flag or a file gave a degree or another key that a search chooses.
bool names_a_layout(const workload::LayoutSpec& layout);

/// Where a short search stops. A limit on work instead of time: the same command prints the same bytes everywhere.
struct SearchLimit {
  std::size_t layouts = 0;  ///< timed
  /// The same in passes of micro-batches through model chunks; one takes about 10 us.
  std::uint64_t passes = std::numeric_limits<std::uint64_t>::max();
};
/// Of plan_default(). Above 65,536 GPUs a layout takes a minute. With offload more layouts: bounds order these less
/// well, because copies of different stages meet.
constexpr SearchLimit limit_by_default(std::uint32_t gpus, const workload::LayoutSpec& layout) {
  return {gpus > 65536 ? 1u : layout.offload.optimizer || layout.offload.activations ? 8u : 4u, 1u << 16};
}
struct DefaultPlan {
  workload::LayoutSpec layout;  ///< resolved: the default one, or the fastest that was timed
  std::string because;          ///< why it is not the default one; empty: it is
  bool none_fits = false;       ///< `layout` is the one that needs least memory
  std::size_t stops_after = 0;  ///< timed layouts, after which the search stops
  std::string flags() const;    ///< to add to the command for the same layout
};
/// The layout of a step for which none was given. Without a global batch it is the usual one.
/// Errors: those of resolve_layout() when no layout divides.
Result<DefaultPlan> plan_default(const step::TrainRun& machine, const Context& context);

/// For a step of `machine` on `gpus` GPUs: the fastest of the first layouts of a search with the schedules that
/// every framework has. `go_on`: as in PlanAsk. Errors: as run_plan().
Result<workload::LayoutSpec> plan_briefly(const step::TrainRun& machine, std::uint32_t gpus, const SearchLimit& limit,
                                          const std::function<bool()>& go_on);

/// The same for any space, with its step.
Result<PlannedLayout> plan_fastest(const step::TrainRun& machine, std::uint32_t gpus, const PlanSpace& space,
                                   const SearchLimit& limit, const std::function<bool()>& go_on);

/// The step of a scenario without a layout: in the default one or, where that cannot run, in one that a search finds.
Result<step::TrainRun> run_without_layout(spec::Scenario scenario, const step::TrainAsk& ask, const Context& context);

}  // namespace busbar::plan
