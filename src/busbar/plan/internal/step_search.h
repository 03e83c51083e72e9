// A search on an opened machine, whose layouts are timed as `busbar train` times them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "busbar/plan/search.h"
#include "busbar/step/train_run.h"

namespace busbar::plan {

/// What was timed so far.
struct SearchWork {
  std::size_t layouts = 0;
  std::uint64_t passes = 0;  ///< of micro-batches through model chunks, forward and backward as one
};
/// Asked before each layout.
using GoOnSearching = std::function<bool(const SearchWork&, const PlanProgress&)>;

/// The machine of a search once more: for further threads, and with spares in each server or rack.
struct OtherMachines {
  std::vector<step::TrainRun> threads{};
  std::vector<std::vector<step::TrainRun>> spared{};  ///< each for all threads
};

/// With `capacity` per GPU; may find nothing. Bounds are those of a mean step, with the slowest GPU. `rows`, `gap`: as
/// in PlanAsk.
Result<Plan> search_steps(const step::TrainRun& machine, std::uint32_t gpus, const PlanSpace& space, Bytes capacity,
                          GoOnSearching go_on, const OtherMachines& others = {}, std::size_t rows = 0, double gap = 0);

/// The same; without a batch, with the usual one. Finding nothing is an error.
Result<Plan> find_steps(const step::TrainRun& machine, std::uint32_t gpus, PlanSpace space, Bytes capacity,
                        GoOnSearching go_on, const OtherMachines& others = {});

/// Whether a search found a layout, or was stopped before.
Status check_found(const Plan& plan, const PlanSpace& space, const workload::ModelSpec& model, std::uint32_t gpus,
                   Bytes capacity);

}  // namespace busbar::plan
