#include "busbar/plan/memory_floor.h"

#include <algorithm>

#include "busbar/workload/memory.h"

namespace busbar {
namespace {

constexpr double kStates = 12, kSharded = 16;  // bytes per parameter, as in workload/memory.cc

/// Passes of which a stage keeps tensors at its worst moment, at least.
double in_flight(const PlanPoint& p, double micro_batches, std::uint32_t s) {
  const double m = micro_batches, left = p.pp - s;
  if (p.schedule == PipelineSchedule::kGPipe) return m;
  if (p.schedule == PipelineSchedule::kZbV) return std::min(m, 2 * left - 1);
  if (p.vpp == 1) return std::min(m, left);
  return std::min(m * p.vpp, 2 * (left - 1) + (p.vpp - 1.0) * p.pp + 1);
}

}  // namespace

double least_layer_share(const ModelSpec& m, std::uint32_t tp, bool experts) {
  const LayerParameters p = layer_parameters(m);
  const double gates = m.gated_mlp ? 3 : 2;
  const double mlp = experts ? gates * m.moe.shared * m.moe.ffn * m.hidden : static_cast<double>(p.mlp_in + p.mlp_out);
  return (static_cast<double>(attention_parameters(m)) + mlp) / tp;
}

const MemoryFloors::Layer& MemoryFloors::layer_of(const PlanPoint& p) {
  const auto [at, fresh] = layers_.try_emplace({p.tp, p.cp, p.ep, p.micro_batch, p.recompute});
  if (!fresh) return at->second;
  const LayoutSpec l = layout_of(space_, p, space_.base.zero);
  const auto kept = [&](bool experts) {
    if (l.offload_activations) return 0.0;
    return static_cast<double>(l.recompute == Recompute::kFull ? checkpoint_bytes_per_layer(model_, l)
                                                               : activation_bytes_per_layer(model_, l, experts));
  };
  at->second = {kept(false), model_.moe.experts > 0 ? kept(true) : 0};
  return at->second;
}

MemoryFloors::Share MemoryFloors::share_of(const PlanPoint& p) const {
  Share s{least_layer_share(model_, p.tp, false), 0, 0};
  if (model_.moe.experts == 0) return s;
  LayoutSpec l;
  l.tp = p.tp;
  l.ep = p.ep;
  l.expert_tp = space_.base.expert_tp;
  s.experts = least_layer_share(model_, p.tp, true);
  s.routed = static_cast<double>(expert_parameters(model_)) * model_.moe.experts / p.ep / l.expert_tensor();
  return s;
}

double MemoryFloors::stage(const PlanPoint& p, std::uint32_t zero, const std::vector<std::uint32_t>& chunks,
                           std::uint32_t s) {
  LayoutSpec order;
  order.pp = p.pp;
  order.vpp = p.vpp;
  order.schedule = p.schedule;
  const LayoutSpec& base = space_.base;
  const Layer& layer = layer_of(p);
  const Share share = share_of(p);
  double whole = 0, routed = 0, least_kept = -1;
  for (std::uint32_t c = 0; c < p.vpp; ++c) {
    const std::uint32_t place = order.virtual_stage(s, c);
    std::uint32_t first = 0, experts = 0;
    for (std::uint32_t i = 0; i < place; ++i) first += chunks[i];
    for (std::uint32_t i = 0; i < chunks[place] && model_.moe.experts > 0; ++i)
      experts += has_experts(model_, first + i) ? 1 : 0;
    const double dense = chunks[place] - experts;
    whole += dense * share.dense + experts * share.experts;
    routed += experts * share.routed;
    const double kept = dense * layer.dense + experts * layer.experts;
    if (least_kept < 0 || kept < least_kept) least_kept = kept;
  }
  if (s == 0) whole += static_cast<double>(embedding_parameters(model_)) / p.tp;
  const double n = base.shard_group > 0 ? base.shard_group : p.dp * p.cp;
  const double states = base.offload_optimizer ? 0 : kStates, parameters = base.parameter_bytes;
  const double gradients = base.gradient_bytes;
  // Of routed experts only what no sharding takes away.
  double bytes = zero >= 3 ? 0 : routed * (parameters + (zero >= 2 ? 0 : gradients));
  if (zero == 0) bytes += whole * (parameters + gradients + states);
  if (zero == 1) bytes += whole * (parameters + gradients + states / n);
  if (zero == 2) bytes += whole * (parameters + (gradients + states) / n);
  if (zero == 3) bytes += whole * (base.offload_optimizer ? parameters : kSharded) / n;
  return bytes + in_flight(p, base.global_batch / (p.dp * p.micro_batch), s) * least_kept;
}

double MemoryFloors::of(const PlanPoint& p, std::uint32_t zero, const std::vector<std::uint32_t>& chunks) {
  const double first = stage(p, zero, chunks, 0);
  return p.pp == 1 ? first : std::max(first, stage(p, zero, chunks, 1));
}

}  // namespace busbar
