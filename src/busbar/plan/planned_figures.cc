#include "busbar/plan/planned_figures.h"

namespace busbar::plan {

double usd_of(const step::TrainRun& machine, const PlannedLayout& l) {
  return step::step_cost(l.layout, l.step.step_time, machine.cluster().usd_per_gpu_hour,
                         machine.gpus_with_spares(l.layout.ranks()))
      .usd_per_step;
}

double mfu_of(const step::TrainRun& machine, const PlannedLayout& l) {
  return step::step_metrics(machine.scenario.model, l.layout, l.step.step_time, machine.kernels.bf16.peak_flops_per_s,
                            machine.gpus_with_spares(l.layout.ranks()))
      .mfu;
}

}  // namespace busbar::plan
