#include "busbar/step/metrics.h"

#include "busbar/workload/batch.h"

namespace busbar::step {
namespace {

constexpr double kSecondsPerHour = 3600, kHoursPerDay = 24, kTera = 1e12, kMillion = 1e6;

double tokens_per_step(const workload::LayoutSpec& l) { return static_cast<double>(l.batch.global) * l.batch.seq; }

/// Of a token in the mean over documents. Weights that are not trained need no gradient: two thirds of their products.
/// Source: Megatron-Bridge, flop_utils.py (2026), LoRA. The adapters' own work is not counted.
workload::ModelFlops model_flops(const workload::ModelSpec& model, const workload::LayoutSpec& l) {
  workload::ModelFlops sum;
  if (l.batch.documents.empty() && !l.adapters.any()) return workload::flops_per_token(model, l.batch.seq);
  double tokens = 0;
  for (const std::uint32_t length : workload::document_pieces(l.batch)) {
    const workload::ModelFlops one = workload::flops_per_token(model, length);
    sum.full_attention += one.full_attention * length;
    sum.causal += one.causal * length;
    tokens += length;
  }
  sum.full_attention /= tokens;
  sum.causal /= tokens;
  if (!l.adapters.any()) return sum;
  const double half = sum.full_attention - sum.causal, products = sum.causal - half;
  return {products * 2 / 3 + 2 * half, products * 2 / 3 + half};
}

}  // namespace

StepMetrics step_metrics(const workload::ModelSpec& model, const workload::LayoutSpec& layout, Duration step_time,
                         double peak_flops_per_s, std::uint32_t gpus) {
  const double rate = tokens_per_step(layout) / (step_time.in_s() * gpus);
  const workload::ModelFlops flops = model_flops(model, layout);
  StepMetrics m;
  m.tokens_per_s_per_gpu = rate;
  m.model_tflops_per_gpu = rate * flops.causal / kTera;
  m.model_tflops_per_gpu_full_attention = rate * flops.full_attention / kTera;
  m.mfu = rate * flops.causal / peak_flops_per_s;
  m.mfu_full_attention = rate * flops.full_attention / peak_flops_per_s;
  return m;
}

double scaling_efficiency(Duration step_time, Duration single_replica_time) {
  return single_replica_time.in_s() / step_time.in_s();  // tokens per GPU and step are equal
}

StepCost step_cost(const workload::LayoutSpec& layout, Duration step_time, double usd_per_gpu_hour,
                   std::uint32_t gpus) {
  const double usd_per_hour = usd_per_gpu_hour * gpus;
  StepCost c;
  c.usd_per_step = usd_per_hour * step_time.in_s() / kSecondsPerHour;
  c.usd_per_million_tokens = c.usd_per_step / tokens_per_step(layout) * kMillion;
  c.usd_per_day = usd_per_hour * kHoursPerDay;
  c.usd_per_day_per_percent = 0.01 * c.usd_per_day;
  return c;
}

}  // namespace busbar::step
