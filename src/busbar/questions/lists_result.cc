#include "busbar/questions/lists_result.h"

#include "busbar/questions/planned_result.h"

namespace busbar::questions {

const Record& record_of(const ListedStep*) {
  using L = ListedStep;
  static const Record record(
      "layout", {{"layout", &L::layout, "", "resolved"},
                 {"step_time_s", &L::step_time_s, "s", "of a step: mean, with the slowest GPU; null: it does not fit"},
                 {"step_time_ps", &L::step_time_ps, "ps", "the same"},
                 {"balanced_step_time_s", &L::balanced_step_time_s, "s", "if all GPUs were equal"},
                 {"mfu", &L::mfu, "", "model FLOPs over the peak, 0 to 1"},
                 {"memory_bytes", &L::memory_bytes, "bytes", "of the fullest GPU"},
                 {"usd_per_step", &L::usd_per_step, "USD", "0: the machine has no price"},
                 Field("breakdown_s", &L::breakdown_s, "", "the parts of the step").or_absent(),
                 {"fits", &L::fits, "", "into the memory of a GPU"},
                 {"no_fit_because", &L::no_fit_because, "", "empty: it fits"},
                 {"command", &L::command, "", "for this row alone"}});
  return record;
}

const Record& record_of(const RefusedResult*) {
  using R = RefusedResult;
  static const Record record("refused", {{"because", &R::because, "", "why these are not possible"},
                                         {"combinations", &R::combinations, "", "number of them"}});
  return record;
}

const Record& record_of(const ListsAnswer*) {
  using L = ListsAnswer;
  static const Record record(
      "layouts", {{"cluster", &L::cluster, "", "name of the machine"},
                  {"model", &L::model, "", "its name"},
                  {"engine", &L::engine, "", "flow or analytic"},
                  {"inputs_hash", &L::inputs_hash, "", "of everything that the result depends on"},
                  {"combinations", &L::combinations, "", "of the values of all lists"},
                  {"timed", &L::timed, "", "of them"},
                  {"no_fit", &L::no_fit, "", "into memory"},
                  {"complete", &L::complete, "", "false: interrupted"},
                  {"memory_capacity_bytes", &L::memory_capacity_bytes, "bytes", "of a GPU"},
                  {"layouts", &L::layouts, "", "the fastest first, then those that do not fit"},
                  {"refused", &L::not_possible, "", "combinations that are not possible"},
                  {"band_percent", &L::band_percent, "%", "8 of 10 published steps of sources left out were so far from their prediction"},
                  {"band_basis", &L::band_basis, "", "the measurements that this is from"}});
  return record;
}

namespace {

ListedStep listed_step(const step::TrainRun& machine, const plan::ListedLayout& row, std::string command) {
  const PlannedStep step = planned_result(machine, row.planned);
  ListedStep out;
  out.layout = step.layout;
  out.memory_bytes = step.memory_bytes;
  out.fits = row.no_fit.empty();
  out.no_fit_because = row.no_fit;
  out.command = std::move(command);
  if (!out.fits) return out;
  out.step_time_s = step.step_time_s;
  out.step_time_ps = step.step_time_ps;
  out.balanced_step_time_s = step.balanced_step_time_s;
  out.mfu = step.mfu;
  out.usd_per_step = step.usd_per_step;
  out.breakdown_s = step.breakdown_s;
  return out;
}

}  // namespace

ListsAnswer lists_answer(plan::ListsRun run, std::string inputs_hash,
                         const std::function<std::string(const plan::ListedLayout&)>& command) {
  ListsAnswer a;
  a.cluster = run.machine.cluster().name;
  a.model = run.machine.scenario.model.name;
  a.engine = run.machine.engine;
  a.inputs_hash = std::move(inputs_hash);
  a.combinations = run.combinations;
  a.timed = run.fitting();
  a.no_fit = run.layouts.size() - a.timed;
  a.complete = run.complete;
  a.memory_capacity_bytes = count(run.capacity);
  for (const plan::ListedLayout& row : run.layouts) a.layouts.push_back(listed_step(run.machine, row, command(row)));
  for (const plan::RefusedLayouts& r : run.refused) a.not_possible.push_back({r.why, r.combinations});
  a.band_percent = {run.machine.band.low_percent, run.machine.band.high_percent};
  a.band_basis = run.machine.band.basis;
  a.exit_status = a.timed > 0 ? 0 : 1;
  a.run = std::move(run);
  return a;
}

}  // namespace busbar::questions
