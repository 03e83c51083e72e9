#include "busbar/cli/step_ask.h"

#include <optional>
#include <utility>

#include "busbar/cli/long_run.h"
#include "busbar/cli/packet_options.h"
#include "busbar/plan/default_plan.h"

namespace busbar {
namespace {

thread_local KeptMachines* lent = nullptr;

}  // namespace

Result<TrainRun> run_named_step(Scenario scenario, const TrainAsk& ask, bool open) {
  const NamedTask task("timing the step on " + scenario.cluster);
  if (!open) return step::predict(std::move(scenario), ask);
  std::optional<LongRun> search;  // while it counts layouts, a signal keeps the best of them
  Context context;
  context.stop = LongRun::flag();
  context.progress = [&](const Progress& p) {
    if (!search) search.emplace(p.what);
    search->go_on(p.done, p.total);
  };
  return run_without_layout(std::move(scenario), ask, context);
}

void join_command(TrainAsk& ask) {
  ask.stop = LongRun::flag();
  ask.kept = lent;
  ask.notice = notice_on_stderr();
}

KeptMachines* lent_machines() { return lent; }

LentMachines::LentMachines(KeptMachines& machines) { lent = &machines; }
LentMachines::~LentMachines() { lent = nullptr; }

}  // namespace busbar
