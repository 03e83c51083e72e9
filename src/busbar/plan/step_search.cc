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

/// Counts what it times, on the thread of the search.
class SearchMachines {
 public:
  SearchMachines(const step::TrainRun& machine, const OtherMachines& others) : machine_(machine), others_(others) {}

  void fill(PlanAsk& search) {
    search.time = counted(machine_);
    for (const step::TrainRun& other : others_.threads) search.others.push_back(worker(other));
    for (const std::vector<step::TrainRun>& threads : others_.spared) {
      MachineUse use{threads[0].gpus, {}};
      for (const step::TrainRun& run : threads) use.workers.push_back(worker(run));
      use.workers[0].time = counted(threads[0]);
      search.spared.push_back(std::move(use));
    }
  }
  const step::TrainRun& of(std::uint32_t use) const { return use == 0 ? machine_ : others_.spared[use - 1][0]; }
  /// A bound of any use: fewer GPUs have a faster slowest one.
  Duration least_with_slowest(Duration bound) const {
    Duration least = with_slowest(machine_, bound);
    for (const std::vector<step::TrainRun>& threads : others_.spared)
      least = std::min(least, with_slowest(threads[0], bound));
    return least;
  }
  SearchWork work;

 private:
  PlanWorker worker(const step::TrainRun& run) {
    floors_.push_back(std::make_unique<CallFloors>(*run.machine));
    return {floors_.back().get(), [&run](const workload::LayoutSpec& layout) { return step::step_with(run, layout); }};
  }
  std::function<Result<step::StepResult>(const workload::LayoutSpec&)> counted(const step::TrainRun& run) {
    return [this, &run](const workload::LayoutSpec& layout) {
      ++work.layouts;
      work.passes += std::uint64_t{layout.micro_batches()} * layout.chunks();
      return step::step_with(run, layout);
    };
  }

  const step::TrainRun& machine_;
  const OtherMachines& others_;
  std::vector<std::unique_ptr<CallFloors>> floors_;
};

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
                          GoOnSearching go_on, const OtherMachines& others, std::size_t rows, double gap) {
  CallFloors floors(*machine.machine);
  SearchMachines machines(machine, others);
  PlanAsk search;
  search.gpus = gpus;
  search.capacity = capacity;
  search.rows = rows;
  search.gap = gap;
  search.close = machine.band.tie_percent / 100;
  machines.fill(search);
  search.go_on = [&](const PlanProgress& p) {
    return go_on(machines.work, {machines.least_with_slowest(p.best), machines.least_with_slowest(p.bound)});
  };
  BUSBAR_ASSIGN(Plan plan, search_plan(space, machine.scenario.model, machine.kernels, floors, search));
  for (PlannedLayout& l : plan.layouts) l.bound = with_slowest(machines.of(l.use), l.bound);
  plan.lower_bound = machines.least_with_slowest(plan.lower_bound);
  plan.proven = machines.least_with_slowest(plan.proven);
  return plan;
}

Result<Plan> find_steps(const step::TrainRun& machine, std::uint32_t gpus, PlanSpace space, Bytes capacity,
                        GoOnSearching go_on, const OtherMachines& others) {
  workload::fill_batch(space.base, machine.scenario.model, gpus);
  BUSBAR_ASSIGN(Plan plan, search_steps(machine, gpus, space, capacity, std::move(go_on), others));
  BUSBAR_RETURN_IF_ERROR(check_found(plan, space, machine.scenario.model, gpus, capacity));
  return plan;
}

}  // namespace busbar::plan
