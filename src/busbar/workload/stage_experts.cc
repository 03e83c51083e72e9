// The half of a layer with routed experts: tokens go to the ranks of their experts and come back.
#include "busbar/workload/internal/rank_groups.h"
#include "busbar/workload/internal/stage_writer.h"

namespace busbar {
namespace {

constexpr std::uint64_t kWord = 2;  // bytes per element of outputs and gradients

}  // namespace

void StageWriter::prepare_expert_calls() {
  if (model_.moe.experts == 0) return;
  const std::uint64_t elements = std::uint64_t{layout_.routed_tokens()} * model_.moe.per_token * model_.hidden;
  if (layout_.ep > 1) {
    const GroupFamily groups = expert_groups(layout_, stage_);
    ep_dispatch_ = call(Collective::kAllToAll, elements * layout_.dispatch_bytes, groups);
    ep_combine_ = call(Collective::kAllToAll, elements * kWord, groups);
  }
  if (layout_.expert_tensor() > 1) {
    const GroupFamily groups = expert_tensor_groups(layout_, stage_);
    const std::uint64_t all = elements * layout_.expert_tensor() * kWord;
    ep_gather_ = call(Collective::kAllGather, all, groups);
    ep_scatter_ = call(Collective::kReduceScatter, all, groups);
  }
}

/// The next computation waits for it.
void StageWriter::expert_exchange(Label label, CallId call, StreamId stream, OpClass cls) {
  if (call == kNone<CallId>) return;
  arrived_ = out_.collective(role_, stream, label, cls, call, {last_compute_, arrived_});
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
  expert_exchange(Label::kDispatch, ep_dispatch_, StreamId::kEp, OpClass::kEp);
  expert_exchange(Label::kGatherTokens, ep_gather_, StreamId::kTp, OpClass::kTp);
  compute(Label::kExperts, t.in + t.middle + t.out);
  expert_exchange(Label::kScatterTokens, ep_scatter_, StreamId::kTp, OpClass::kTp);
  expert_exchange(Label::kCombine, ep_combine_, StreamId::kEp, OpClass::kEp);
  compute(Label::kCollect, t.collect);
}

void StageWriter::backward_experts(std::uint32_t layer) {
  const ExpertTimes& t = times_.experts;
  const bool splits = layout_.splits_backward();  // layer_weights() has the rest
  const std::uint32_t in = chunk_->plan.tensor(layer, TensorPart::kMlpIn),
                      out = chunk_->plan.tensor(layer, TensorPart::kMlpOut);
  compute(Label::kCollectBack, t.collect_back);
  await_again(out);
  expert_exchange(Label::kDispatchGradient, ep_combine_, StreamId::kEp, OpClass::kEp);
  expert_exchange(Label::kGatherTokens, ep_gather_, StreamId::kTp, OpClass::kTp);
  compute(Label::kExpertsBack, t.out_dgrad + t.middle_back + t.in_dgrad + (splits ? Duration{} : t.weights()));
  expert_exchange(Label::kScatterTokens, ep_scatter_, StreamId::kTp, OpClass::kTp);
  expert_exchange(Label::kCombineGradient, ep_combine_, StreamId::kEp, OpClass::kEp);
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
