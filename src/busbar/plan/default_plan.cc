#include "busbar/plan/default_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "busbar/plan/internal/step_search.h"
#include "busbar/plan/layout_flags.h"
#include "busbar/topology/gpu_memory.h"
#include "busbar/workload/batch.h"

namespace busbar::plan {
namespace {

bool within(const SearchLimit& limit, const SearchWork& work) {
  return work.layouts < limit.layouts && work.passes < limit.passes;
}

}  // namespace

bool names_a_layout(const workload::LayoutSpec& layout) {
  constexpr const char* kSearched[] = {"tp", "pp",          "vpp",  "dp",        "cp",
                                       "ep", "micro_batch", "zero", "recompute", "schedule"};
  return std::any_of(std::begin(kSearched), std::end(kSearched),
                     [&](const char* key) { return layout.places.contains(key); });
}

std::string DefaultPlan::flags() const {
  const bool typed = layout.places.contains("global_batch");
  return layout_flags(layout) + (typed ? "" : fmt::format(" --global-batch {}", layout.batch.global));
}

Result<DefaultPlan> plan_default(const step::TrainRun& machine, const Context& context) {
  const workload::ModelSpec& model = machine.scenario.model;
  const std::uint32_t gpus = machine.gpus;
  workload::LayoutSpec asked = machine.scenario.layout;
  workload::fill_batch(asked, model, gpus);
  Result<workload::LayoutSpec> usual = workload::resolve_layout(asked, model, gpus);
  Status usable = usual.ok() ? workload::check_fits(workload::memory_use(model, *usual),
                                                    topology::gpu_memory(machine.cluster().topology))
                             : Status(usual.error());
  if (usable.ok()) return DefaultPlan{std::move(*usual), ""};
  PlanSpace space;
  space.base = asked;
  space.schedule = {workload::PipelineSchedule::k1F1B};  // that every framework has
  const SearchLimit limit = limit_by_default(gpus, asked);
  std::size_t stops_after = limit.layouts;
  Result<Plan> plan = search_steps(
      machine, gpus, space, topology::gpu_memory(machine.cluster().topology), [&](const SearchWork& work, const auto&) {
        if (!within(limit, work)) stops_after = work.layouts;
        return context.go_on("layouts", work.layouts, limit.layouts) && within(limit, work);
      });
  if (!plan.ok()) return usual.ok() ? plan.error() : usable.error();
  const std::string why = usable.error().message, because = why.substr(0, std::min(why.find(": "), why.find("; ")));
  if (plan->least) return DefaultPlan{std::move(plan->least->layout), because, true};
  if (plan->layouts.empty()) return usable.error();  // interrupted
  return DefaultPlan{std::move(plan->layouts.front().layout), because, false, stops_after};
}

Result<workload::LayoutSpec> plan_briefly(const step::TrainRun& machine, std::uint32_t gpus, const SearchLimit& limit,
                                          const std::function<bool()>& go_on) {
  PlanSpace space;
  space.base = machine.scenario.layout;
  space.schedule = {workload::PipelineSchedule::k1F1B};
  BUSBAR_ASSIGN(PlannedLayout best, plan_fastest(machine, gpus, space, limit, go_on));
  return std::move(best.layout);
}

Result<PlannedLayout> plan_fastest(const step::TrainRun& machine, std::uint32_t gpus, const PlanSpace& space,
                                   const SearchLimit& limit, const std::function<bool()>& go_on) {
  BUSBAR_ASSIGN(Plan plan,
                find_steps(machine, gpus, space, topology::gpu_memory(machine.cluster().topology),
                           [&](const SearchWork& work, const auto&) { return within(limit, work) && go_on(); }));
  if (plan.layouts.empty()) return invalid("interrupted before a layout was timed");
  return std::move(plan.layouts.front());
}

Result<step::TrainRun> run_without_layout(spec::Scenario scenario, const step::TrainAsk& ask, const Context& context) {
  BUSBAR_ASSIGN(step::TrainRun run, step::open_train(std::move(scenario), ask));
  BUSBAR_ASSIGN(const DefaultPlan plan, plan_default(run, context));
  run.layout = plan.layout;
  if (plan.none_fits) run.none_fits = run.scenario.layout;
  if (!plan.because.empty()) {
    run.scenario.layout = plan.layout;
    run.planned_because = plan.because;
    run.planned_flags = plan.flags();
    run.planned_after = plan.stops_after;
  }
  BUSBAR_RETURN_IF_ERROR(step::predict_train(run, ask));
  return run;
}

}  // namespace busbar::plan
