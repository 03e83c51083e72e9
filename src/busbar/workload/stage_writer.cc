#include "busbar/workload/stage_writer.h"

#include <fmt/core.h>

#include <utility>

namespace busbar {
namespace {

constexpr std::uint64_t kActivationBytes = 2;  // bf16
constexpr std::uint64_t kLossTermBytes = 4;    // one fp32 per token
constexpr int kLossSums = 3;  // maximum, sum of exponents, the target's logit: vocabulary-parallel cross-entropy

}  // namespace

StageWriter::StageWriter(ProgramWriter& out, const ModelSpec& model, const LayoutSpec& layout, const StepTimes& times,
                         std::uint32_t stage)
    : out_(out),
      model_(model),
      layout_(layout),
      times_(times),
      stage_(stage),
      virtual_stages_(layout.pp * layout.vpp),
      sequence_parallel_(layout.sequence_parallel && layout.tp > 1),
      overlap_tp_(layout.overlap_tp && layout.tp > 1),
      blocking_p2p_(!(layout.overlap_p2p && layout.vpp > 1)) {
  role_ = out.add_role(fmt::format("stage {}", stage), stage_ranks(layout, stage));
  prepare_calls();
  prepare_chunks();
}

void StageWriter::prepare_calls() {
  const std::uint64_t states = kActivationBytes * layout_.tokens() * model_.hidden;
  if (layout_.tp > 1) {
    const GroupFamily tp_family = tp_groups(layout_, stage_);
    if (sequence_parallel_) {
      tp_gather_ = out_.intern(auto_call(Collective::kAllGather, states, tp_family));
      tp_scatter_ = out_.intern(auto_call(Collective::kReduceScatter, states, tp_family));
    } else {
      tp_reduce_ = out_.intern(auto_call(Collective::kAllReduce, states, tp_family));
    }
    if (stage_ + 1 == layout_.pp) {
      tp_loss_ = out_.intern(auto_call(Collective::kAllReduce, kLossTermBytes * layout_.tokens(), tp_family));
    }
  }
  if (layout_.pp == 1) return;
  const std::uint64_t sent = sequence_parallel_ ? states / layout_.tp : states;
  const std::uint32_t next = (stage_ + 1) % layout_.pp, previous = (stage_ + layout_.pp - 1) % layout_.pp;
  const auto to = [&](std::uint32_t peer) {  // member 0 sends
    return out_.intern(auto_call(Collective::kSendRecv, sent, stage_pairs(layout_, stage_, peer)));
  };
  if (next != 0 || layout_.vpp > 1) send_next_ = to(next);
  if (stage_ != 0 || layout_.vpp > 1) send_previous_ = to(previous);
}

void StageWriter::prepare_chunks() {
  for (std::uint32_t c = 0; c < layout_.vpp; ++c) {
    ChunkState chunk;
    chunk.plan = plan_buckets(model_, layout_, stage_, c);
    chunk.gathered.assign(chunk.plan.bucket_parameters.size(), kNone<OpId>);
    if (layout_.dp > 1) {
      const Collective reduce = layout_.shards_optimizer() ? Collective::kReduceScatter : Collective::kAllReduce;
      for (const std::uint64_t n : chunk.plan.bucket_parameters) {
        const GroupFamily dp_family = dp_groups(layout_, stage_);
        chunk.reduce.push_back(out_.intern(auto_call(reduce, n * layout_.gradient_bytes, dp_family)));
        if (!layout_.shards_optimizer()) continue;
        chunk.gather.push_back(out_.intern(auto_call(Collective::kAllGather, n * layout_.parameter_bytes, dp_family)));
      }
    }
    chunks_.push_back(std::move(chunk));
  }
}

void StageWriter::gather_parameters() {
  if (!layout_.shards_optimizer()) return;
  for (ChunkState& chunk : chunks_) {
    for (std::size_t b = chunk.gather.size(); b-- > 0;) {
      last_dp_ = out_.collective(role_, StreamId::kDp, Label::kGatherParameters, OpClass::kDp, chunk.gather[b], {});
      chunk.gathered[b] = last_dp_;
    }
  }
}

void StageWriter::pass(const PipelineStep& step) {
  chunk_ = &chunks_[step.chunk];
  virtual_stage_ = step.chunk * layout_.pp + stage_;
  micro_batch_ = step.micro_batch;
  const std::uint32_t layers = model_.layers / virtual_stages_;
  out_.set_position(micro_batch_, virtual_stage_ * layers);
  if (step.forward) {
    forward(virtual_stage_ * layers, layers);
  } else {
    backward(virtual_stage_ * layers, layers);
  }
}

StageWriter::BlockLabels StageWriter::attention_labels() {
  return {Label::kAttention,
          Label::kAttentionBack,
          Label::kAttentionInput,
          Label::kAttentionWeights,
          Label::kGatherAttention,
          Label::kScatterAttention,
          Label::kGatherAttentionGradient,
          Label::kRegatherAttention,
          Label::kScatterAttentionGradient};
}

StageWriter::BlockLabels StageWriter::mlp_labels() {
  return {
      Label::kMlp,        Label::kMlpBack,           Label::kMlpInput,    Label::kMlpWeights,        Label::kGatherMlp,
      Label::kScatterMlp, Label::kGatherMlpGradient, Label::kRegatherMlp, Label::kScatterMlpGradient};
}

void StageWriter::forward(std::uint32_t first_layer, std::uint32_t layers) {
  virtual_stage_ == 0 ? forward_embedding() : receive(true);
  for (std::uint32_t i = 0; i < layers; ++i) {
    out_.set_position(micro_batch_, first_layer + i);
    const auto tensor = [&](TensorPart part) { return chunk_->plan.tensor(i, part); };
    forward_block(times_.attention, attention_labels(), tensor(TensorPart::kAttentionIn),
                  tensor(TensorPart::kAttentionOut));
    forward_block(times_.mlp, mlp_labels(), tensor(TensorPart::kMlpIn), tensor(TensorPart::kMlpOut));
  }
  virtual_stage_ + 1 == virtual_stages_ ? forward_head() : send(true);
}

void StageWriter::backward(std::uint32_t first_layer, std::uint32_t layers) {
  virtual_stage_ + 1 == virtual_stages_ ? backward_head() : receive(false);
  for (std::uint32_t i = layers; i-- > 0;) {
    out_.set_position(micro_batch_, first_layer + i);
    const auto tensor = [&](TensorPart part) { return chunk_->plan.tensor(i, part); };
    backward_block(times_.mlp, mlp_labels(), tensor(TensorPart::kMlpIn), tensor(TensorPart::kMlpOut));
    backward_block(times_.attention, attention_labels(), tensor(TensorPart::kAttentionIn),
                   tensor(TensorPart::kAttentionOut));
  }
  virtual_stage_ == 0 ? backward_embedding() : send(false);
}

void StageWriter::forward_block(const BlockTimes& t, const BlockLabels& names, std::uint32_t in_tensor,
                                std::uint32_t out_tensor) {
  compute(Label::kNorm, t.norm);
  await_parameters(in_tensor);
  const OpId gathered = tp_open(names.gather);
  // Pipelined with its collectives, a GEMM runs in TP pieces: all but one beside the gather, all but one beside the
  // scatter.
  const Duration beside_gather = overlap_tp_ ? t.in - piece(t.in) : Duration{};
  const Duration beside_scatter = overlap_tp_ ? t.out - piece(t.out) : Duration{};
  if (overlap_tp_) compute(names.forward, beside_gather);
  arrived_ = gathered;
  compute(names.forward, t.in + t.middle + t.out - beside_gather - beside_scatter);
  await_parameters(out_tensor);
  const OpId scattered = tp_close(names.scatter);
  if (overlap_tp_) compute(names.forward, beside_scatter);
  arrived_ = scattered;
}

void StageWriter::backward_block(const BlockTimes& t, const BlockLabels& names, std::uint32_t in_tensor,
                                 std::uint32_t out_tensor) {
  const OpId gathered = tp_open(names.gather_gradient);
  const Duration beside_gather = overlap_tp_ ? t.out_dgrad - piece(t.out_dgrad) : Duration{};
  if (overlap_tp_) compute(names.backward, beside_gather);
  if (gathered != kNone<OpId>) arrived_ = gathered;
  compute(names.backward, t.out_dgrad + t.out_wgrad + t.middle_back - beside_gather);
  gradient_ready(out_tensor);
  input_and_weights(names.input, t.in_dgrad, names.weights, t.in_wgrad, names.regather, names.scatter_gradient);
  compute(Label::kNormBack, t.norm_back);
  gradient_ready(in_tensor);
}

void StageWriter::input_and_weights(Label input, Duration dgrad, Label weights, Duration wgrad, Label regather,
                                    Label scatter) {
  const OpId gathered = tp_open(regather);
  compute(input, dgrad);
  const OpId scattered = tp_close(scatter);
  arrived_ = gathered;
  compute(weights, wgrad);
  arrived_ = scattered;
}

void StageWriter::forward_embedding() {
  compute(Label::kEmbedding, times_.ends.embedding);
  await_parameters(chunk_->plan.embedding());
  arrived_ = tp_close(Label::kScatterEmbedding);
}

void StageWriter::backward_embedding() {
  arrived_ = tp_open(Label::kGatherEmbeddingGradient);
  compute(Label::kEmbeddingBack, times_.ends.embedding_back);
  gradient_ready(chunk_->plan.embedding());
}

void StageWriter::forward_head() {
  compute(Label::kNorm, times_.ends.head_norm);
  await_parameters(chunk_->plan.head());
  arrived_ = tp_open(Label::kGatherHead);
  compute(Label::kHead, times_.ends.logits);
  for (int i = 0; i < kLossSums; ++i) arrived_ = tp(Label::kLossSum, tp_loss_);
  compute(Label::kLoss, times_.ends.loss);
}

void StageWriter::backward_head() {
  compute(Label::kHeadBack, times_.ends.loss_back);
  input_and_weights(Label::kHeadInput, times_.ends.logits_dgrad, Label::kHeadWeights, times_.ends.logits_wgrad,
                    Label::kRegatherHead, Label::kScatterHeadGradient);
  compute(Label::kNormBack, times_.ends.head_norm_back);
  gradient_ready(chunk_->plan.head());
}

std::uint32_t StageWriter::promise_key(bool forward, std::uint32_t virtual_stage) const {
  const std::uint32_t direction = forward ? 0 : virtual_stages_;
  return (direction + virtual_stage) * layout_.micro_batches() + micro_batch_;
}

void StageWriter::receive(bool forward) {
  receiving_ = true;
  awaited_ = {promise_key(forward, forward ? virtual_stage_ - 1 : virtual_stage_ + 1)};
}

void StageWriter::send(bool forward) {
  const CallId call = forward ? send_next_ : send_previous_;
  const Label label = forward ? Label::kSendForward : Label::kSendBackward;
  const OpId op = out_.collective(role_, StreamId::kPp, label, OpClass::kPp, call, {last_compute_, arrived_});
  out_.keep({promise_key(forward, virtual_stage_)}, op);
  if (blocking_p2p_) blocking_send_ = op;
}

void StageWriter::take_pending() {
  out_.also_after(blocking_send_);
  blocking_send_ = kNone<OpId>;
  if (receiving_) out_.also_after(awaited_);
  receiving_ = false;
}

OpId StageWriter::compute(Label label, Duration d) {
  last_compute_ = out_.delay(role_, label, OpClass::kCompute, d, {arrived_});
  arrived_ = kNone<OpId>;
  take_pending();
  return last_compute_;
}

OpId StageWriter::tp(Label label, CallId call) {
  if (call == kNone<CallId>) return kNone<OpId>;
  const OpId op = out_.collective(role_, StreamId::kTp, label, OpClass::kTp, call, {last_compute_});
  take_pending();
  return op;
}

Duration StageWriter::piece(Duration d) const { return Duration::ps(d.in_ps() / layout_.tp); }

void StageWriter::await_parameters(std::uint32_t tensor) {
  if (micro_batch_ == 0) out_.also_after(chunk_->gathered[chunk_->plan.bucket_of[tensor]]);
}

void StageWriter::gradient_ready(std::uint32_t tensor) {
  if (micro_batch_ + 1 != layout_.micro_batches() || !layout_.overlap_grad_reduce) return;
  const std::uint32_t bucket = chunk_->plan.bucket_of[tensor];
  if (chunk_->plan.last_tensor[bucket] == tensor) reduce_bucket(*chunk_, bucket);
}

void StageWriter::reduce_bucket(ChunkState& chunk, std::uint32_t bucket) {
  if (layout_.dp == 1) return;
  last_dp_ = out_.collective(role_, StreamId::kDp, Label::kReduceGradients, OpClass::kDp, chunk.reduce[bucket],
                             {last_compute_});
}

OpId StageWriter::reduce_rest() {
  if (!layout_.overlap_grad_reduce) {
    for (ChunkState& chunk : chunks_) reduce_bucket(chunk, 0);
  }
  return last_dp_;
}

OpId StageWriter::across_stages(Label label, CallId call, const std::vector<OpId>& after) {
  last_dp_ = out_.collective(role_, StreamId::kDp, label, OpClass::kDp, call, {});
  for (const OpId op : after) out_.also_after(op);
  return last_dp_;
}

OpId StageWriter::gradient_norm(Duration duration, OpId after) {
  last_compute_ = out_.delay(role_, Label::kGradientNorm, OpClass::kOptimizer, duration, {arrived_, after});
  arrived_ = kNone<OpId>;
  take_pending();
  return last_compute_;
}

void StageWriter::update(Duration duration, OpId norm_sum) {
  last_compute_ = out_.delay(role_, Label::kOptimizer, OpClass::kOptimizer, duration, {norm_sum});
  if (layout_.shards_optimizer() && !layout_.overlap_param_gather) {
    for (ChunkState& chunk : chunks_) {
      for (const CallId call : chunk.gather) {
        arrived_ = out_.collective(role_, StreamId::kDp, Label::kGatherParameters, OpClass::kDp, call, {last_compute_});
      }
    }
  }
  if (times_.overhead > Duration{}) {
    last_compute_ = out_.delay(role_, Label::kStepOverhead, OpClass::kOther, times_.overhead, {arrived_});
  }
}

}  // namespace busbar
