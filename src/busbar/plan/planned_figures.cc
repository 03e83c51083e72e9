#include "busbar/plan/planned_figures.h"

namespace busbar {

double usd_of(const TrainRun& machine, const PlannedLayout& l) {
  return step_cost(l.layout, l.step.step_time, machine.cluster().usd_per_gpu_hour).usd_per_step;
}

double mfu_of(const TrainRun& machine, const PlannedLayout& l) {
  return step_metrics(machine.scenario.model, l.layout, l.step.step_time, machine.kernels.bf16.peak_flops_per_s).mfu;
}

}  // namespace busbar
