#include "busbar/questions/planned_result.h"

#include "busbar/plan/planned_figures.h"

namespace busbar::questions {

const Record& record_of(const PlannedStep*) {
  using P = PlannedStep;
  static const Record record("layout",
                             {{"layout", &P::layout, "", "resolved"},
                              {"step_time_s", &P::step_time_s, "s", "of a step: mean, with the slowest GPU"},
                              {"step_time_ps", &P::step_time_ps, "ps", "the same"},
                              {"balanced_step_time_s", &P::balanced_step_time_s, "s", "if all GPUs were equal"},
                              {"mfu", &P::mfu, "", "model FLOPs over the peak, 0 to 1"},
                              {"memory_bytes", &P::memory_bytes, "bytes", "of the fullest GPU"},
                              {"usd_per_step", &P::usd_per_step, "USD", "0: the machine has no price"},
                              {"breakdown_s", &P::breakdown_s, "", "the parts of the step"}});
  return record;
}

PlannedStep planned_result(const step::TrainRun& machine, const plan::PlannedLayout& l) {
  return {layout_result(l.layout),  l.step.step_time.in_s(), l.step.step_time.in_ps(), l.step.balanced.in_s(),
          plan::mfu_of(machine, l), count(l.memory.total()), plan::usd_of(machine, l), step_seconds(l.step.breakdown)};
}

const Record& record_of(const FitResult*) {
  using F = FitResult;
  static const Record record("change", {{"what", &F::what, "", "the change"},
                                        {"flags", &F::flags, "", "to add to the command"},
                                        {"step_time_s", &F::step_time_s, "s", "with it"},
                                        {"memory_bytes", &F::memory_bytes, "bytes", "of the fullest GPU"},
                                        {"capacity_bytes", &F::capacity_bytes, "bytes", "of a GPU"},
                                        {"layout", &F::layout, "", "resolved"}});
  return record;
}

std::vector<FitResult> fit_results(const std::vector<plan::FitChange>& changes) {
  std::vector<FitResult> out;
  for (const plan::FitChange& c : changes)
    out.push_back(
        {c.what, c.flags, c.step.in_s(), count(c.memory.total()), count(c.capacity), layout_result(c.layout)});
  return out;
}

}  // namespace busbar::questions
