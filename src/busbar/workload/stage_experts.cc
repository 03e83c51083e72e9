// The half of a layer with routed experts: tokens go to the ranks of their experts and come back.
#include <algorithm>
#include <cmath>

#include "busbar/workload/internal/rank_groups.h"
#include "busbar/workload/internal/stage_writer.h"

namespace busbar {
namespace {

constexpr double kWord = 2;  // bytes per element of outputs and gradients

/// Nodes that have an expert of one token, expected: n (1 - (1 - 1/n)^k) for k choices among n nodes.
double nodes_of_token(const ModelSpec& m, std::uint32_t nodes) {
  const double n = m.moe.most_nodes == 0 ? nodes : std::min(nodes, m.moe.most_nodes);
  return n * (1 - std::pow(1 - 1 / n, m.moe.per_token));
}

}  // namespace

void StageWriter::prepare_expert_calls(std::uint32_t scale_up_gpus) {
  if (model_.moe.experts == 0) return;
  // The busiest rank receives more than the mean, and all wait for it.
  const double token = static_cast<double>(layout_.routed_tokens()) * model_.hidden * busiest_rank(model_, layout_);
  const auto bytes = [&](double copies, double per_element) {
    return static_cast<std::uint64_t>(token * copies * per_element);
  };
  const double copies = model_.moe.per_token, there = layout_.dispatch_bytes;
  const NodeGroups groups = expert_node_groups(layout_, stage_, scale_up_gpus);
  const std::uint32_t nodes = groups.across.size(), near = groups.inside.size();
  if (layout_.expert_exchange == ExpertExchange::kPerNode && nodes > 1 && near > 1) {
    const double reached = nodes_of_token(model_, nodes);
    ep_dispatch_ = call(Collective::kAllToAll, bytes(reached, there), groups.across);
    ep_combine_ = call(Collective::kAllToAll, bytes(reached, kWord), groups.across);
    ep_fan_out_ = call(Collective::kAllToAll, bytes(copies, there), groups.inside);
    ep_fan_in_ = call(Collective::kAllToAll, bytes(copies, kWord), groups.inside);
  } else if (layout_.ep > 1) {
    ep_dispatch_ = call(Collective::kAllToAll, bytes(copies, there), expert_groups(layout_, stage_));
    ep_combine_ = call(Collective::kAllToAll, bytes(copies, kWord), expert_groups(layout_, stage_));
  }
  if (layout_.expert_tensor() > 1) {
    const GroupFamily sharing = expert_tensor_groups(layout_, stage_);
    ep_gather_ = call(Collective::kAllGather, bytes(copies * layout_.expert_tensor(), kWord), sharing);
    ep_scatter_ = call(Collective::kReduceScatter, bytes(copies * layout_.expert_tensor(), kWord), sharing);
  }
}

/// Between nodes and, at the same time, inside each: the next computation waits for both.
void StageWriter::expert_exchange(Label label, CallId call, CallId inside) {
  const OpId before = arrived_;
  if (call == kNone<CallId>) return;
  arrived_ = out_.collective(role_, StreamId::kEp, label, OpClass::kEp, call, {last_compute_, before});
  if (inside == kNone<CallId>) return;
  arrived_inside_ = out_.collective(role_, StreamId::kTp, label, OpClass::kEp, inside, {last_compute_, before});
}

void StageWriter::expert_tensor(Label label, CallId call) {
  if (call == kNone<CallId>) return;
  arrived_ =
      out_.collective(role_, StreamId::kTp, label, OpClass::kTp, call, {last_compute_, arrived_, arrived_inside_});
  arrived_inside_ = kNone<OpId>;
}

void StageWriter::forward_experts(std::uint32_t layer, Run run) {
  const ExpertTimes& t = times_.experts;
  const std::uint32_t in = chunk_->plan.tensor(layer, TensorPart::kMlpIn),
                      out = chunk_->plan.tensor(layer, TensorPart::kMlpOut);
  compute(Label::kNorm, t.norm);
  await_parameters(in);
  if (run == Run::kAgain) await_again(in);
  if (model_.moe.shared > 0) forward_block(t.shared, mlp_labels(), in, out, run, false);
  compute(Label::kRoute, t.route);
  expert_exchange(Label::kDispatch, ep_dispatch_, ep_fan_out_);
  expert_tensor(Label::kGatherTokens, ep_gather_);
  compute(Label::kExperts, t.in + t.middle + t.out);
  expert_tensor(Label::kScatterTokens, ep_scatter_);
  expert_exchange(Label::kCombine, ep_combine_, ep_fan_in_);
  compute(Label::kCollect, t.collect);
}

void StageWriter::backward_experts(std::uint32_t layer) {
  const ExpertTimes& t = times_.experts;
  const bool splits = layout_.splits_backward();  // layer_weights() has the rest
  const std::uint32_t in = chunk_->plan.tensor(layer, TensorPart::kMlpIn),
                      out = chunk_->plan.tensor(layer, TensorPart::kMlpOut);
  compute(Label::kCollectBack, t.collect_back);
  await_again(out);
  expert_exchange(Label::kDispatchGradient, ep_combine_, ep_fan_in_);
  expert_tensor(Label::kGatherTokens, ep_gather_);
  compute(Label::kExpertsBack, t.out_dgrad + t.middle_back + t.in_dgrad + (splits ? Duration{} : t.weights()));
  expert_tensor(Label::kScatterTokens, ep_scatter_);
  expert_exchange(Label::kCombineGradient, ep_combine_, ep_fan_in_);
  compute(Label::kRouteBack, t.route_back);
  if (model_.moe.shared > 0) {
    backward_block(t.shared, mlp_labels(), in, out);
  } else if (!splits) {
    gradient_ready(out);
    gradient_ready(in);
  }
  compute(Label::kNormBack, t.norm_back);
}

}  // namespace busbar
