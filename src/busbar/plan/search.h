// The fastest layout of a model on a machine, by branch and bound.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "busbar/plan/space.h"
#include "busbar/plan/step_bound.h"
#include "busbar/step/simulate.h"
#include "busbar/workload/memory.h"

namespace busbar::plan {

/// Another thread's way to bound and to time layouts: with the same results, and nothing in common with the others.
struct PlanWorker {
  CallFloors* floors = nullptr;
  std::function<Result<step::StepResult>(const workload::LayoutSpec&)> time;
};

/// GPUs that layouts may take: all of the machine, or some of each server or rack.
struct MachineUse {
  std::uint32_t gpus = 0;
  std::vector<PlanWorker> workers;  ///< of each thread one, the search's own first
};

/// How far a search is.
struct PlanProgress {
  Duration best = Duration::max();  ///< the least time so far; max(): none is known
  Duration bound;                   ///< no layout that is left is faster
};

struct PlanAsk {
  std::uint32_t gpus = 0;
  Bytes capacity{0};  ///< memory of a GPU
  /// Times a layout: the way `busbar train` does. Bounds are those of equal GPUs: StepResult::balanced decides.
  std::function<Result<step::StepResult>(const workload::LayoutSpec&)> time;
  /// Asked before each layout is bounded or timed; false: stop with the best so far.
  std::function<bool(const PlanProgress&)> go_on = [](const PlanProgress&) { return true; };
  /// After the proof, layouts within `close` of the best are timed too, until `rows` are timed in all.
  std::size_t rows = 0;
  double close = 0;                  ///< 0.02: 2 %
  double gap = 0;                    ///< 0.03: proven is enough that no layout is more than 3 % faster
  std::vector<PlanWorker> others{};  ///< threads that look ahead; the plan is the same with any number of them
  std::vector<MachineUse> spared{};  ///< further uses of the machine, each with as many workers
};

struct PlannedLayout {
  workload::LayoutSpec layout;  ///< resolved
  workload::MemoryUse memory;
  Duration bound;
  step::StepResult step;
  std::uint32_t use = 0;  ///< 0: of all GPUs; n: PlanAsk::spared[n - 1]
};

struct Plan {
  /// All that were timed, the fastest first (ties: the lower bound first), and of twins only the faster: layouts that
  /// give each GPU the same tokens at a time, such as CP 2 with two sequences and CP 1 with one.
  std::vector<PlannedLayout> layouts;
  Duration lower_bound;  ///< of every layout in the space that fits, known before any was timed
  /// No layout of the space is faster: the best time, or the least bound left if that is less.
  Duration proven;
  bool complete = false;               ///< no layout is faster by more than the gap that was asked for
  std::uint64_t searched = 0;          ///< layouts in the space
  std::uint64_t refused = 0;           ///< degrees, layers or batches that do not divide
  std::uint64_t no_fit = 0;            ///< reached by the search, and too large
  std::uint64_t bounded = 0;           ///< left out because of their bounds
  std::optional<PlannedLayout> least;  ///< nothing fits: the layout that needs least memory, not timed
};

/// Layouts leave a queue in the order of their bounds: first the quick bound, then, for those that fit, that of the
/// program with floors, and with closed forms; then they are timed. The queue begins with usual layouts (is_usual);
/// when some are timed, all others follow whose quick bound is below the best time. The search ends when the next bound
/// is not below the best time, less the gap. Errors: those of `time`.
Result<Plan> search_plan(const PlanSpace& space, const workload::ModelSpec& model, const workload::KernelTable& kernels,
                         CallFloors& floors, const PlanAsk& ask);

}  // namespace busbar::plan
