#include "busbar/plan/plan_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/plan/internal/step_search.h"
#include "busbar/predict/memory_band.h"
#include "busbar/spec/catalog.h"
#include "busbar/topology/gpu_memory.h"
#include "busbar/workload/batch.h"

namespace busbar::plan {
namespace {

constexpr std::size_t kCompared = 10;  ///< layouts that a search times where ties are left

/// Those that no other beats in both time and memory, the fastest first.
std::vector<PlannedLayout> front_of(std::vector<PlannedLayout> layouts) {
  const auto memory = [](const PlannedLayout& l) { return count(l.memory.total()); };
  std::stable_sort(layouts.begin(), layouts.end(), [&](const PlannedLayout& a, const PlannedLayout& b) {
    return std::pair(a.step.step_time, memory(a)) < std::pair(b.step.step_time, memory(b));
  });
  std::vector<PlannedLayout> out;
  for (PlannedLayout& l : layouts)
    if (out.empty() || memory(l) < memory(out.back())) out.push_back(std::move(l));
  return out;
}

/// Sets run.front. `whole`: searches again and again with the memory of the best over kFrontSlack, until nothing fits.
Status find_front(PlanRun& run, const PlanSpace& space, bool whole, const GoOnSearching& go_on,
                  const OtherMachines& others) {
  std::vector<PlannedLayout> timed = run.plan.layouts;
  const std::uint32_t gpus = run.machine.gpus;
  bool more = whole && run.plan.complete;
  for (std::size_t best = 0; more;) {
    const double least = static_cast<double>(count(timed[best].memory.total()));
    Result<Plan> plan =
        find_steps(run.machine, gpus, space, Bytes{static_cast<std::uint64_t>(least / kFrontSlack)}, go_on, others);
    if (!plan.ok() && plan.error().code != ErrorCode::kDoesNotFit) {
      if (go_on({}, {})) return plan.error();
      break;  // interrupted: the front so far
    }
    run.front_proven = !plan.ok();
    more = plan.ok() && plan->complete;
    best = timed.size();
    if (plan.ok())
      for (PlannedLayout& l : plan->layouts) timed.push_back(std::move(l));
  }
  run.front = front_of(std::move(timed));
  return {};
}

/// Only of a few ties, because each of them takes a program.
Status find_ties(PlanRun& run) {
  const std::vector<PlannedLayout>& all = run.plan.layouts;  // the fastest first
  const spec::Catalog catalog(run.machine.scenario.cluster_overrides.catalog);
  BUSBAR_ASSIGN(const predict::AccuracyTable accuracy, predict::AccuracyTable::load(catalog));
  for (std::size_t i = 1; i < all.size() && all[i].step.step_time.in_s() < run.tie_s(); ++i) {
    run.tied.emplace_back();
    if (i >= kCompared) continue;
    BUSBAR_ASSIGN(run.tied.back(), tie_measurement({run.machine_of(all.front()), all.front()},
                                                   {run.machine_of(all[i]), all[i]}, accuracy));
  }
  return {};
}

/// Times the layout that needs least, and tries what would make one fit.
Result<PlanRun> nothing_planned(PlanRun run, const PlanSpace& space, const step::TrainAsk& ask) {
  PlannedLayout& least = *run.plan.least;
  BUSBAR_ASSIGN(least.step, step::step_with(run.machine_of(least), least.layout));
  BUSBAR_ASSIGN(run.would_fit, searches_that_fit(run.machine, ask, space));
  return run;
}

/// The machine for all threads, with `per_domain` GPUs of each server or rack; 0: all.
Result<std::vector<step::TrainRun>> open_spared(spec::Scenario scenario, const step::TrainAsk& ask,
                                                std::uint32_t threads, std::uint32_t per_domain) {
  scenario.gpus_per_domain = per_domain;
  std::vector<step::TrainRun> out(threads);
  for (step::TrainRun& run : out) {
    BUSBAR_ASSIGN(run, step::open_train(scenario, ask));
  }
  return out;
}

/// As the space, or else the scenario, says how many GPUs of each domain take part.
Status open_machines(const spec::Scenario& scenario, const PlanSpace& space, const step::TrainAsk& ask,
                     std::uint32_t threads, PlanRun& run, OtherMachines& others) {
  std::vector<std::uint32_t> per_domain = space.per_domain;
  if (per_domain.empty()) per_domain = {scenario.gpus_per_domain};
  BUSBAR_ASSIGN(std::vector<step::TrainRun> first, open_spared(scenario, ask, threads, per_domain[0]));
  for (std::size_t i = 1; i < per_domain.size(); ++i) {
    BUSBAR_ASSIGN(others.spared.emplace_back(), open_spared(scenario, ask, threads, per_domain[i]));
  }
  run.machine = std::move(first[0]);
  others.threads.assign(std::make_move_iterator(first.begin() + 1), std::make_move_iterator(first.end()));
  return {};
}

}  // namespace

Result<PlanRun> run_plan(const spec::Scenario& scenario, PlanSpace space, const step::TrainAsk& ask,
                         const PlanEffort& effort, const Context& context) {
  PlanRun run;
  OtherMachines others;
  BUSBAR_RETURN_IF_ERROR(open_machines(scenario, space, ask, effort.threads, run, others));
  workload::fill_batch(space.base, run.machine.scenario.model, run.machine.gpus);
  run.gap = effort.whole_front ? 0 : effort.gap;
  run.headroom = effort.headroom;
  const auto memory = static_cast<double>(count(topology::gpu_memory(run.machine.cluster().topology)));
  run.capacity = Bytes{static_cast<std::uint64_t>(memory * (1 - effort.headroom))};
  BUSBAR_ASSIGN(run.memory_band, predict::memory_band(spec::Catalog(scenario.cluster_overrides.catalog)));
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  const auto go_on = [&](const SearchWork& work, const PlanProgress& p) {  // how many are left is not known
    return context.go_on_with("layouts", work.layouts, [&] { return progress_words(p); }) &&
           (effort.within_s <= 0 || seconds() < effort.within_s);
  };
  BUSBAR_ASSIGN(run.plan,
                search_steps(run.machine, run.machine.gpus, space, run.capacity, go_on, others, kCompared, run.gap));
  const auto keep_spared = [&] {
    for (std::vector<step::TrainRun>& threads : others.spared) run.spared.push_back(std::move(threads[0]));
  };
  if (run.plan.least) {
    keep_spared();
    return nothing_planned(std::move(run), space, ask);
  }
  BUSBAR_RETURN_IF_ERROR(check_found(run.plan, space, run.machine.scenario.model, run.machine.gpus, run.capacity));
  if (!run.plan.layouts.empty()) {
    BUSBAR_RETURN_IF_ERROR(find_front(run, space, effort.whole_front, go_on, others));
    keep_spared();
    BUSBAR_RETURN_IF_ERROR(find_ties(run));
    run.seconds = seconds();
    return run;
  }
  return invalid("too short to find a layout that fits; allow more time or name degrees: --tp 8", {"", 0, 0, "within"});
}

bool PlanRun::within_memory_error(const PlannedLayout& l) const {
  const auto has = static_cast<double>(count(topology::gpu_memory(machine.cluster().topology)));
  const auto needs = static_cast<double>(count(l.memory.total()));
  return needs * (1 + memory_band.low_percent / 100) <= has && needs * (1 + memory_band.high_percent / 100) > has;
}

std::string progress_words(const PlanProgress& p) {
  if (p.best == Duration::max()) return " timed; looking for one that fits";
  const std::string best = fmt::format(" timed, the best takes {}", format_duration(p.best.in_s()));
  if (p.bound >= p.best) return best + ": proven; timing others that may tie";
  return fmt::format("{}; at most {:.2g} % less is possible", best, 100 * (1 - p.bound.in_s() / p.best.in_s()));
}

std::string why_lost(const PlannedLayout& l, const PlannedLayout& best) {
  const auto mine = step::breakdown_rows(l.step.breakdown), its = step::breakdown_rows(best.step.breakdown);
  std::size_t worst = 0;
  for (std::size_t i = 1; i < mine.size(); ++i)
    if (mine[i].second - its[i].second > mine[worst].second - its[worst].second) worst = i;
  const Duration more = mine[worst].second - its[worst].second;
  if (more <= Duration()) return "";
  std::string part = mine[worst].first;
  if (part.starts_with("exposed_")) {
    part = part.substr(8);
    for (char& c : part) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    part = "exposed " + part;
  }
  return fmt::format("{} more of {}", format_duration(more.in_s()), part);
}

}  // namespace busbar::plan
