// Tokens, FLOPs and money that follow from a step time.
#pragma once

#include <cstdint>

#include "busbar/base/units.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar::step {

/// MFU counts model FLOPs with causal attention (half the scores), without recomputation, against the dense bf16 peak.
/// The count with full attention is also given, for comparison with publications that use it.
struct StepMetrics {
  double tokens_per_s_per_gpu = 0;
  double model_tflops_per_gpu = 0;  ///< causal
  double model_tflops_per_gpu_full_attention = 0;
  double mfu = 0;  ///< causal, 0..1
  double mfu_full_attention = 0;
};
/// `gpus`: of the job, with those that it keeps as spares. Precondition: step_time > 0, a resolved layout.
StepMetrics step_metrics(const workload::ModelSpec& model, const workload::LayoutSpec& layout, Duration step_time,
                         double peak_flops_per_s, std::uint32_t gpus);

/// Tokens/s/GPU relative to one replica (single_replica(): same TP x PP, same micro-batches) alone.
double scaling_efficiency(Duration step_time, Duration single_replica_time);

struct StepCost {
  double usd_per_step = 0;
  double usd_per_million_tokens = 0;
  double usd_per_day = 0;              ///< of the whole machine
  double usd_per_day_per_percent = 0;  ///< the cost of 1 % of the step: 1 % of usd_per_day
};
StepCost step_cost(const workload::LayoutSpec& layout, Duration step_time, double usd_per_gpu_hour, std::uint32_t gpus);

}  // namespace busbar::step
