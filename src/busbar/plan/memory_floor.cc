#include "busbar/plan/internal/memory_floor.h"

#include <algorithm>
#include <cmath>

#include "busbar/workload/memory.h"

namespace busbar::plan {
namespace {

constexpr double kStates = 12, kSharded = 16;  // bytes per parameter, as in workload/memory.cc

/// Passes of which a stage keeps tensors at its worst moment, at least.
double in_flight(const PlanPoint& p, double micro_batches, std::uint32_t s) {
  const double m = micro_batches, left = p.pp - s;
  if (p.schedule == workload::PipelineSchedule::kGPipe) return m;
  if (p.schedule == workload::PipelineSchedule::kZbV)
    return std::min(m, 2 * left - 1 + s) + s + 1;                                   // before a backward pass
  if (p.schedule == workload::PipelineSchedule::kDualPipeV) return 2.0 * p.pp + 1;  // in its first pair; m >= 2 PP
  if (p.vpp == 1) return std::min(m, left);
  return std::min(m * p.vpp, 2 * (left - 1) + (p.vpp - 1.0) * p.pp + 1);
}

}  // namespace

double least_layer_share(const workload::ModelSpec& m, std::uint32_t tp, bool experts) {
  double least = INFINITY;
  for (const workload::LayerKind& kind : workload::layer_table(m).kinds) {
    if (kind.experts != experts) continue;
    const std::uint64_t width = experts ? std::uint64_t{m.moe.shared} * m.moe.ffn : kind.ffn;
    double parameters = static_cast<double>(workload::mlp_parameters(m, width));
    for (const workload::Matrix& x : workload::mixer_matrices(kind.mixer, m.hidden))
      parameters += static_cast<double>(x.parameters());
    least = std::min(least, parameters / tp);
  }
  return std::isinf(least) ? 0 : least;
}

MemoryFloors::MemoryFloors(const PlanSpace& space, const workload::ModelSpec& model)
    : space_(space),
      model_(model),
      experts_before_(model.layers + 1),
      dense_(least_layer_share(model, 1, false)),
      experts_(least_layer_share(model, 1, true)),
      routed_(model.moe.experts > 0 ? static_cast<double>(workload::expert_parameters(model)) * model.moe.experts : 0) {
  for (std::uint32_t i = 0; i < model.layers; ++i)
    experts_before_[i + 1] = experts_before_[i] + (workload::has_experts(model, i) ? 1 : 0);
}

const MemoryFloors::Layer& MemoryFloors::layer_of(const PlanPoint& p) {
  const auto [at, fresh] = layers_.try_emplace({p.tp, p.cp, p.ep, p.micro_batch, p.recompute.key()});
  if (!fresh) return at->second;
  const workload::LayoutSpec l = layout_of(space_, p, space_.base.sharding.zero);
  const auto kept = [&](bool experts) {
    if (l.offload.activations) return 0.0;
    if (l.recomputation.kind == workload::Recompute::kFull)
      return static_cast<double>(workload::checkpoint_bytes_per_layer(model_, l));
    double least = INFINITY;
    for (const workload::LayerKind& kind : workload::layer_table(model_).kinds)
      if (kind.experts == experts)
        least = std::min(least, static_cast<double>(workload::activation_bytes_per_layer(model_, l, kind)));
    return std::isinf(least) ? 0 : least;
  };
  at->second = {kept(false), model_.moe.experts > 0 ? kept(true) : 0};
  return at->second;
}

const std::array<MemoryFloors::Layers, 2>& MemoryFloors::layers_of(const PlanPoint& p,
                                                                   const std::vector<std::uint32_t>& chunks) {
  const auto [at, fresh] = stages_.try_emplace({p.pp, p.vpp, p.schedule});
  if (!fresh) return at->second;
  workload::LayoutSpec order;
  order.pp = p.pp;
  order.vpp = p.vpp;
  order.schedule = p.schedule;
  for (std::uint32_t place = 0, first = 0; place < chunks.size(); first += chunks[place++]) {
    const std::uint32_t s = order.stage_of(place);
    if (s >= at->second.size()) continue;
    const double with = experts_before_[first + chunks[place]] - experts_before_[first], without = chunks[place] - with;
    Layers& stage = at->second[s];
    stage.dense += without;
    stage.experts += with;
    if (std::find(stage.chunks.begin(), stage.chunks.end(), std::pair(without, with)) == stage.chunks.end())
      stage.chunks.emplace_back(without, with);
  }
  return at->second;
}

void MemoryFloors::add_stage(const PlanPoint& p, const std::vector<std::uint32_t>& chunks, std::uint32_t s,
                             std::array<double, 4>& most) {
  const Layer& layer = layer_of(p);
  const auto& [dense, experts, of_chunks] = layers_of(p, chunks)[s];
  double kept = INFINITY;  // the least that a chunk keeps
  for (const auto& [without, with] : of_chunks) kept = std::min(kept, without * layer.dense + with * layer.experts);
  const workload::LayoutSpec& base = space_.base;
  const std::uint32_t sharing = base.expert_tp > 0 ? base.expert_tp : p.ep > 1 ? 1 : p.tp;
  double whole = (dense * dense_ + experts * experts_) / p.tp;
  if (s == 0) whole += static_cast<double>(workload::embedding_parameters(model_)) / p.tp;
  const double routed = experts * routed_ / p.ep / sharing;
  const double n = base.sharding.group > 0 ? base.sharding.group : p.dp * p.cp;
  const double states = base.offload.optimizer ? 0 : kStates, parameters = base.exchange.parameter_bytes;
  const double gradients = base.exchange.gradient_bytes;
  const workload::AdapterSpec& adapters = base.adapters;
  const workload::OptimizerSpec& optimizer = base.optimizer;
  const bool all_trained = !adapters.any() && optimizer.kind == workload::OptimizerKind::kAdamW &&
                           optimizer.moments == workload::MomentKind::kFp32 && optimizer.master_bytes == 4;
  const double held = in_flight(p, base.batch.global / (p.dp * p.micro_batch), s) * kept;
  // Of routed experts only what no sharding takes away.
  const double bytes[] = {routed * (parameters + gradients) + whole * (parameters + gradients + states),
                          routed * (parameters + gradients) + whole * (parameters + gradients + states / n),
                          routed * parameters + whole * (parameters + (gradients + states) / n),
                          whole * (base.offload.optimizer ? parameters : kSharded) / n};
  // Of other optimizers and of weights beside adapters only what all of them hold: nothing is proved.
  for (std::size_t z = 0; z < most.size(); ++z) most[z] = std::max(most[z], all_trained ? bytes[z] + held : held);
}

std::array<double, 4> MemoryFloors::of(const PlanPoint& p, const std::vector<std::uint32_t>& chunks) {
  std::array<double, 4> most{};
  for (std::uint32_t s = 0; s < std::min(p.pp, 2u); ++s) add_stage(p, chunks, s, most);
  return most;
}

}  // namespace busbar::plan
