#include "busbar/plan/internal/step_search.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/workload/batch.h"

namespace busbar::plan {
namespace {

std::string degrees(const workload::LayoutSpec& l) {
  std::string s = fmt::format("TP {} x PP {} x DP {}", l.tp, l.pp, l.dp);
  if (l.cp > 1) s += fmt::format(" x CP {}", l.cp);
  if (l.ep > 1) s += fmt::format(", EP {}", l.ep);
  return s;
}

Error nothing_fits(const PlannedLayout& least, Bytes capacity) {
  Error e = workload::check_fits(least.memory, capacity).error();
  e.message = fmt::format(
      "no layout fits: the least, {} with ZeRO-{}, recompute {} and micro-batch {}, is {} too large; {}; 'busbar plan' "
      "tries what would make it fit",
      degrees(least.layout), least.layout.sharding.zero, workload::name_of(least.layout.recomputation.kind),
      least.layout.batch.micro, format_size(static_cast<double>(count(least.memory.total()) - count(capacity))),
      e.message.substr(0, e.message.find("; raise")));
  return e;
}

/// A bound of steps with equal GPUs as one of mean steps.
Duration with_slowest(const step::TrainRun& machine, Duration bound) {
  return bound == Duration::max() ? bound : machine.law.mean_of(bound);
}

}  // namespace

Status check_found(const Plan& plan, const PlanSpace& space, const workload::ModelSpec& model, std::uint32_t gpus,
                   Bytes capacity) {
  if (!plan.layouts.empty() || !plan.complete) return {};
  if (plan.least) return nothing_fits(*plan.least, capacity);
  return invalid(fmt::format("no layout divides {} GPUs, the {} layers and {} heads of {} and a global batch of {} "
                             "within the space asked for; change one of them",
                             gpus, model.layers, model.heads, model.name, space.base.batch.global),
                 {"", 0, 0, "global_batch"});
}

Result<Plan> search_steps(const step::TrainRun& machine, std::uint32_t gpus, const PlanSpace& space, Bytes capacity,
                          GoOnSearching go_on, const std::vector<step::TrainRun>& others, std::size_t rows,
                          double gap) {
  const workload::ModelSpec& model = machine.scenario.model;
  CallFloors floors(*machine.machine);
  PlanAsk search;
  search.gpus = gpus;
  search.capacity = capacity;
  search.rows = rows;
  search.gap = gap;
  search.close = machine.band.layouts_percent / 100;
  SearchWork work;
  search.time = [&](const workload::LayoutSpec& layout) {
    ++work.layouts;
    work.passes += std::uint64_t{layout.micro_batches()} * layout.chunks();
    return step::step_with(machine, layout);
  };
  search.go_on = [&](const PlanProgress& p) {
    return go_on(work, {with_slowest(machine, p.best), with_slowest(machine, p.bound)});
  };
  std::vector<std::unique_ptr<CallFloors>> floors_of_others;
  for (const step::TrainRun& other : others) {
    floors_of_others.push_back(std::make_unique<CallFloors>(*other.machine));
    search.others.push_back({floors_of_others.back().get(),
                             [&other](const workload::LayoutSpec& layout) { return step::step_with(other, layout); }});
  }
  BUSBAR_ASSIGN(Plan plan, search_plan(space, model, machine.kernels, floors, search));
  for (PlannedLayout& l : plan.layouts) l.bound = with_slowest(machine, l.bound);
  plan.lower_bound = with_slowest(machine, plan.lower_bound);
  plan.proven = with_slowest(machine, plan.proven);
  return plan;
}

Result<Plan> find_steps(const step::TrainRun& machine, std::uint32_t gpus, PlanSpace space, Bytes capacity,
                        GoOnSearching go_on, const std::vector<step::TrainRun>& others) {
  workload::fill_batch(space.base, machine.scenario.model, gpus);
  BUSBAR_ASSIGN(Plan plan, search_steps(machine, gpus, space, capacity, std::move(go_on), others));
  BUSBAR_RETURN_IF_ERROR(check_found(plan, space, machine.scenario.model, gpus, capacity));
  return plan;
}

}  // namespace busbar::plan
