#include "busbar/workload/internal/stage_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "busbar/workload/internal/layer_split.h"
#include "busbar/workload/internal/rank_groups.h"
#include "busbar/workload/memory.h"

namespace busbar::workload {
namespace {

constexpr std::uint64_t kBf16Bytes = 2, kStateBytes = 4;
constexpr std::uint64_t kLossTermBytes = 4;  // one fp32 per token
constexpr int kLossSums = 3;  // maximum, sum of exponents, the target's logit: vocabulary-parallel cross-entropy
constexpr std::uint32_t kPlainStreams = 4, kCpStreams = 5, kHostStreams = 6, kEpStreams = 7;

}  // namespace

StageWriter::StageWriter(ProgramWriter& out, const ModelSpec& model, const LayoutSpec& layout, const StepTimes& times,
                         std::uint32_t stage, const KernelTable& machine)
    : out_(out),
      model_(model),
      layout_(layout),
      times_(times),
      stage_(stage),
      virtual_stages_(layout.chunks()),
      sequence_parallel_(layout.sequence_parallel && layout.tp > 1),
      overlap_tp_(layout.overlap.tp && layout.tp > 1),
      blocking_p2p_(!(layout.overlap.p2p && (layout.vpp > 1 || layout.splits_backward()))),
      host_ranks_(machine.host_ranks) {
  const std::uint32_t streams = model.moe.experts > 0        ? kEpStreams
                                : layout.offload.activations ? kHostStreams
                                : layout.cp > 1              ? kCpStreams
                                                             : kPlainStreams;
  hidden_.fill(kNone<program::OpId>);
  role_ = out.add_role(fmt::format("stage {}", stage), stage_ranks(layout, stage), streams);
  if (layout.offload.activations) {
    for (const bool again : {false, true}) {
      const std::uint64_t bytes =
          again ? checkpoint_bytes_per_layer(model, layout) : most_activation_bytes(model, layout);
      HostCopies& copies = host_copies_[again ? 1 : 0];
      copies.time = duration_from_ps(static_cast<double>(bytes) / machine.host_bytes_per_s * 1e12);
      if (host_ranks_ > 0) copies.out = host_call(bytes, true), copies.in = host_call(bytes, false);
    }
  }
  slowness_ = layout.kernel_time / layout.speed_of(stage);
  prepare_calls();
  prepare_expert_calls(machine.scale_up_gpus);
  for (std::uint32_t c = 0; c < layout_.vpp; ++c) {
    ChunkState chunk;
    chunk.plan = plan_buckets(model_, layout_, stage_, c);
    chunk.first_layer = first_layer_of(layout_, layout_.virtual_stage(stage_, c));
    chunk.gathered.assign(chunk.plan.bucket_parameters.size(), kNone<program::OpId>);
    prepare_data_calls(chunk);
    if (layout_.shards_parameters() && layout_.data_ranks() > 1)
      for (std::size_t b = 0; b < chunk.copies.size(); ++b)
        chunk.copies[b] = machine.memory_time(1.0 * chunk.plan.bucket_parameters[b] * layout.sharding.copy_bytes);
    if (layout.exchange.compression.bytes > 0) prepare_compressed(chunk, machine);
    chunks_.push_back(std::move(chunk));
  }
}

program::CallId StageWriter::call(collectives::Collective op, std::uint64_t bytes, collectives::GroupFamily groups) {
  return out_.intern(auto_call(op, bytes, std::move(groups)));
}

/// Copy engines move the bytes: no library chooses.
program::CallId StageWriter::host_call(std::uint64_t bytes, bool to_host) {
  program::CollectiveCall c =
      auto_call(collectives::Collective::kSendRecv, bytes, host_pairs(layout_, stage_, host_ranks_, to_host));
  c.algorithm = "direct";
  c.protocol = program::Protocol::kSimple;
  return out_.intern(std::move(c));
}

/// What context parallelism exchanges for a layer: keys and values, or heads; of layers with states, the states that
/// each rank's part of the sequence ends with.
StageWriter::ContextCalls StageWriter::context_calls(const MixerSpec& mixer) {
  ContextCalls c;
  if (mixer.kind == MixerKind::kNone) return c;
  const std::uint32_t key_heads = mixer_key_heads(mixer), width = attention_width(mixer);
  const std::uint64_t heads = key_heads < layout_.tp ? 1 : key_heads / layout_.tp;
  const std::uint64_t queries = mixer_heads(mixer) / layout_.tp;
  const collectives::GroupFamily family = cp_groups(layout_, stage_);
  if (mixer.kind == MixerKind::kState && layout_.context != ContextParallel::kAllToAll) {
    const StateSpec& s = mixer.state;
    const std::uint64_t state = s.rule == StateRule::kConvolution
                                    ? kBf16Bytes * queries * s.value_dim * std::max(1u, s.conv - 1)
                                    : kStateBytes * queries * s.key_dim * s.value_dim;
    c.gather = c.scatter = call(collectives::Collective::kAllGather, state * layout_.cp * layout_.batch.micro, family);
    return c;
  }
  const std::uint64_t keys = 2 * kBf16Bytes * layout_.tokens() * layout_.cp * heads * width;
  if (layout_.context == ContextParallel::kAllToAll) {
    const std::uint64_t head = kBf16Bytes * layout_.tokens() * width;
    // A rank needs at least one key-value head: if there are fewer than ranks, copies are sent.
    const std::uint64_t pairs = 2 * std::max<std::uint64_t>(heads, layout_.cp);
    c.to_heads = call(collectives::Collective::kAllToAll, head * (queries + pairs), family);
    c.to_pieces = call(collectives::Collective::kAllToAll, head * queries, family);
  } else if (layout_.context == ContextParallel::kRing) {
    const std::uint32_t pieces = ring_pieces(layout_.cp);
    c.exchange = call(collectives::Collective::kAllGather, keys / pieces, family);
    c.exchange_back =
        call(collectives::Collective::kAllGather, 2 * keys / pieces, family);  // their gradients travel too
  } else {
    c.gather = call(collectives::Collective::kAllGather, keys, family);
    c.scatter = call(collectives::Collective::kReduceScatter, keys, family);
  }
  return c;
}

void StageWriter::prepare_calls() {
  const std::uint64_t states = kBf16Bytes * layout_.tokens() * model_.hidden;
  if (layout_.tp > 1) {
    const collectives::GroupFamily tp_family = tp_groups(layout_, stage_);
    if (sequence_parallel_) {
      tp_gather_ = call(collectives::Collective::kAllGather, states, tp_family);
      tp_scatter_ = call(collectives::Collective::kReduceScatter, states, tp_family);
      if (overlap_tp_) {
        tp_scatter_first_ = call(collectives::Collective::kReduceScatter, states - states / kScatterChunks, tp_family);
        tp_scatter_last_ = call(collectives::Collective::kReduceScatter, states / kScatterChunks, tp_family);
      }
    } else {
      tp_reduce_ = call(collectives::Collective::kAllReduce, states, tp_family);
    }
    if (stage_ == layout_.last_stage()) {
      tp_loss_ = call(collectives::Collective::kAllReduce, kLossTermBytes * layout_.tokens(), tp_family);
    }
  }
  if (layout_.cp > 1)
    for (const LayerKind& kind : times_.layers.kinds) context_.push_back(context_calls(kind.mixer));
  if (layout_.pp == 1) return;
  const std::uint64_t sent = sequence_parallel_ ? states / layout_.tp : states;
  const std::uint32_t next = (stage_ + 1) % layout_.pp, previous = (stage_ + layout_.pp - 1) % layout_.pp;
  const auto to = [&](std::uint32_t peer) {  // member 0 sends
    return call(collectives::Collective::kSendRecv, sent, stage_pairs(layout_, stage_, peer));
  };
  const bool around =
      layout_.vpp > 1 && layout_.schedule == PipelineSchedule::k1F1B;  // from the last stage to the first
  if (next != 0 || around) send_next_ = to(next);
  if (stage_ != 0 || around) send_previous_ = to(previous);
}

void StageWriter::pass(const PipelineStep& step) {
  chunk_ = &chunks_[step.chunk];
  comes_after_its_forward_ = !step.forward && forward_before_ == chunk_;
  forward_before_ = step.forward ? chunk_ : nullptr;
  virtual_stage_ = layout_.virtual_stage(stage_, step.chunk);
  micro_batch_ = step.micro_batch;
  const std::uint32_t layers = layout_.split.chunk_layers[virtual_stage_], first = chunk_->first_layer;
  paired_ = runs_in_a_pair(step);
  hides_ = 0;
  out_.set_position(micro_batch_, first);
  const bool only_weights = step.part == BackwardPart::kWeights;
  if (!only_weights && crosses_stages(step.forward)) receive(step.forward);
  if (step.forward && step.pair) receive_pair(step);
  if (repeats(step)) {
    repeat(step, first, layers);
  } else {
    write(step, first, layers);
  }
  const std::uint32_t last = step.forward && layers > 0 ? first + layers - 1 : first;
  if (!only_weights && crosses_stages(!step.forward))
    held_.push_back({virtual_stage_, micro_batch_, last, step.forward});
  if (step.holds) return;
  for (const HeldSend& s : held_) {
    virtual_stage_ = s.virtual_stage;
    micro_batch_ = s.micro_batch;
    out_.set_position(s.micro_batch, s.layer);
    send(s.forward);
  }
  held_.clear();
}

/// With overlap_ep each forward pass after the warm-up runs together with the backward pass of another micro-batch,
/// which takes one more forward pass before the first pair.
bool StageWriter::runs_in_a_pair(const PipelineStep& step) {
  if (layout_.experts.overlap == 0 || layout_.schedule == PipelineSchedule::kGPipe) return false;
  if (layout_.schedule == PipelineSchedule::kDualPipeV) return step.pair;
  if (step.part == BackwardPart::kWeights) return paired_;
  const std::uint32_t all = layout_.micro_batches() * layout_.vpp, nth = passes_[step.forward ? 1 : 0]++;
  const std::uint32_t alone = 1 + warmup_steps(stage_, layout_.pp, layout_.vpp, layout_.micro_batches());
  return step.forward ? nth >= alone : nth + alone < all;
}

bool StageWriter::crosses_stages(bool before) const {
  if (virtual_stage_ == (before ? 0 : virtual_stages_ - 1)) return false;
  return layout_.stage_of(before ? virtual_stage_ - 1 : virtual_stage_ + 1) != stage_;
}

void StageWriter::write(const PipelineStep& step, std::uint32_t first_layer, std::uint32_t layers) {
  if (step.forward) return forward(first_layer, layers);
  if (step.part == BackwardPart::kWeights) return backward_weights(first_layer, layers);
  backward(first_layer, layers);
}

/// Whether all micro-batches for which this is true have the same pass.
bool StageWriter::repeats(const PipelineStep& step) const {
  if (layout_.shards_parameters() || layout_.shards_gradients() || layout_.offload.activations) return false;
  const bool experts = model_.moe.experts > 0 && layout_.expert_data_ranks() > 1;
  if (layout_.data_ranks() == 1 && !experts) return true;
  if (step.forward) return micro_batch_ != 0 || layout_.sharding.zero == 0 || !layout_.overlap.param_gather;
  return !last_pass() || !layout_.overlap.grad_reduce || step.part == BackwardPart::kInput;
}

StageWriter::Entry StageWriter::entry() const {
  return {last_compute_,
          arrived_,
          blocking_send_,
          receiving_ ? ProgramWriter::promised(awaited_) : kNone<program::OpId>,
          hidden_[0],
          hidden_[1],
          hidden_[2],
          hidden_[3],
          receiving_pair_ ? ProgramWriter::promised(awaited_pair_) : kNone<program::OpId>};
}

/// Writes the pass, or repeats an earlier one that had the same dependencies present.
void StageWriter::repeat(const PipelineStep& step, std::uint32_t first_layer, std::uint32_t layers) {
  const Entry before = entry();
  const auto same = [&](const Written& w) {
    for (std::size_t i = 0; i < before.size(); ++i)
      if ((w.before[i] == kNone<program::OpId>) != (before[i] == kNone<program::OpId>)) return false;
    return w.step.forward == step.forward && w.step.chunk == step.chunk && w.step.part == step.part &&
           w.paired == paired_;
  };
  const auto known = std::find_if(written_.begin(), written_.end(), same);
  if (known == written_.end()) {
    const program::OpId first = out_.next();
    out_.begin_pass(before);
    write(step, first_layer, layers);
    const std::uint32_t pass = out_.end_pass();
    if (pass != ProgramWriter::kNoPass) written_.push_back({step, paired_, before, entry(), first, pass});
    return;
  }
  const program::OpId first = out_.repeat_pass(known->pass, role_, before);
  const auto moved = [&](program::OpId after) {
    if (after == kNone<program::OpId>) return after;
    for (std::size_t i = 0; i < before.size(); ++i)
      if (after == known->before[i]) return before[i];
    return static_cast<program::OpId>(index(after) - index(known->first) + index(first));
  };
  last_compute_ = moved(known->after[0]);
  arrived_ = moved(known->after[1]);
  blocking_send_ = moved(known->after[2]);
  receiving_ = known->after[3] != kNone<program::OpId>;
  for (std::size_t i = 0; i < kHidden; ++i) hidden_[i] = moved(known->after[4 + i]);
  receiving_pair_ = known->after[4 + kHidden] != kNone<program::OpId>;
}

void StageWriter::forward(std::uint32_t first_layer, std::uint32_t layers) {
  if (virtual_stage_ == 0) forward_embedding();
  for (std::uint32_t i = 0; i < layers; ++i) {
    out_.set_position(micro_batch_, first_layer + i);
    before_forward_unit(chunk_->plan.tensor(i, TensorPart::kAttentionIn));
    forward_layer(i, Run::kFirst);
    if (layout_.offload.activations) offload_layer(i);
  }
  if (virtual_stage_ + 1 != virtual_stages_) return;
  for (std::uint32_t i = layers; i < layers + model_.mtp; ++i) join_forward(i);
  forward_head();
}

void StageWriter::backward(std::uint32_t first_layer, std::uint32_t layers) {
  if (virtual_stage_ + 1 == virtual_stages_) backward_head();
  const std::uint32_t again = recomputed_layers_of(layout_, virtual_stage_);
  if (virtual_stage_ + 1 == virtual_stages_) {
    for (std::uint32_t i = layers + model_.mtp; i-- > layers;) join_backward(i);
  }
  if (layout_.offload.activations) fetch_layer(layers - 1);
  for (std::uint32_t i = layers; i-- > 0;) {
    out_.set_position(micro_batch_, first_layer + i);
    before_backward_unit(chunk_->plan.tensor(i, TensorPart::kAttentionIn));
    if (layout_.offload.activations) {
      fetched_ = next_fetched_;
      if (i > 0) fetch_layer(i - 1);
    }
    if (i < again) forward_layer(i, Run::kAgain);
    backward_layer(i);
  }
  if (virtual_stage_ == 0 && !layout_.splits_backward()) backward_embedding();
}

/// What backward() leaves out where a backward pass has two parts.
void StageWriter::backward_weights(std::uint32_t first_layer, std::uint32_t layers) {
  if (virtual_stage_ + 1 == virtual_stages_) {
    compute(Label::kHeadWeights, times_.ends.logits_wgrad * (1 + model_.mtp));
    gradient_ready(chunk_->plan.head());
    for (std::uint32_t i = layers + model_.mtp; i-- > layers;) {
      layer_weights(i);
      compute(Label::kJoinWeights, times_.ends.join_wgrad);
    }
  }
  for (std::uint32_t i = layers; i-- > 0;) {
    out_.set_position(micro_batch_, first_layer + i);
    layer_weights(i);
  }
  if (virtual_stage_ == 0) backward_embedding();
}

void StageWriter::forward_embedding() {
  before_forward_unit(chunk_->plan.embedding());
  compute(Label::kEmbedding, times_.ends.embedding);
  await_parameters(chunk_->plan.embedding());
  arrived_ = tp_close(Label::kScatterEmbedding);
}

void StageWriter::backward_embedding() {
  arrived_ = tp_open(Label::kGatherEmbeddingGradient);
  compute(Label::kEmbeddingBack, times_.ends.embedding_back);
  gradient_ready(chunk_->plan.embedding());
}

/// The layer of a module of multi-token prediction, and what joins the states of two tokens before it.
void StageWriter::join_forward(std::uint32_t layer) {
  const std::uint32_t in = chunk_->plan.tensor(layer, TensorPart::kAttentionIn);
  before_forward_unit(in);
  compute(Label::kEmbedding, times_.ends.embedding);
  await_parameters(in);
  compute(Label::kJoin, times_.ends.join);
  forward_layer(layer, Run::kFirst);
}

void StageWriter::join_backward(std::uint32_t layer) {
  before_backward_unit(chunk_->plan.tensor(layer, TensorPart::kAttentionIn));
  if (layout_.recomputation.kind == Recompute::kFull && layout_.recomputation.layers == 0)
    forward_layer(layer, Run::kAgain);
  backward_layer(layer);
  const EndTimes& t = times_.ends;
  compute(Label::kJoinBack, t.join_dgrad + (layout_.splits_backward() ? Duration{} : t.join_wgrad));
  compute(Label::kEmbeddingBack, t.embedding_back);
}

/// Once, and once more for each module of multi-token prediction.
void StageWriter::forward_head() {
  before_forward_unit(chunk_->plan.head());
  for (std::uint32_t use = 0; use <= model_.mtp; ++use) {
    compute(Label::kNorm, times_.ends.head_norm);
    await_parameters(chunk_->plan.head());
    arrived_ = tp_open(Label::kGatherHead);
    compute(Label::kHead, times_.ends.logits);
    for (int i = 0; i < kLossSums; ++i) arrived_ = tp(Label::kLossSum, tp_loss_);
    compute(Label::kLoss, times_.ends.loss);
  }
}

void StageWriter::backward_head() {
  before_backward_unit(chunk_->plan.head());
  for (std::uint32_t use = 0; use <= model_.mtp; ++use) {
    compute(Label::kHeadBack, times_.ends.loss_back);
    await_again(chunk_->plan.head());
    input_and_weights(Label::kHeadInput, times_.ends.logits_dgrad, Label::kHeadWeights, times_.ends.logits_wgrad,
                      Label::kRegatherHead, Label::kScatterHeadGradient);
    compute(Label::kNormBack, times_.ends.head_norm_back);
  }
  if (!layout_.splits_backward()) gradient_ready(chunk_->plan.head());
}

std::uint32_t StageWriter::promise_key(bool forward, std::uint32_t virtual_stage, std::uint32_t micro_batch) const {
  const std::uint32_t direction = forward ? 0 : virtual_stages_;
  return (direction + virtual_stage) * layout_.micro_batches() + micro_batch;
}

void StageWriter::receive(bool forward) {
  receiving_ = true;
  awaited_ = {promise_key(forward, forward ? virtual_stage_ - 1 : virtual_stage_ + 1, micro_batch_)};
}

/// The forward pass of a pair waits for the gradient of its backward pass too.
void StageWriter::receive_pair(const PipelineStep& step) {
  const std::uint32_t next = layout_.virtual_stage(stage_, 1 - step.chunk) + 1;
  if (next == virtual_stages_ || layout_.stage_of(next) == stage_) return;
  receiving_pair_ = true;
  awaited_pair_ = {promise_key(false, next, step.other_micro_batch)};
}

void StageWriter::send(bool forward) {
  const bool goes_back = layout_.goes_back() && virtual_stage_ >= layout_.pp;  // up the V
  const program::CallId call = forward != goes_back ? send_next_ : send_previous_;
  const Label label = forward ? Label::kSendForward : Label::kSendBackward;
  const program::OpId op = out_.collective(role_, StreamId::kPp, label, program::OpClass::kPp, call,
                                           {last_compute_, arrived_, hidden_[kHidden - 2], hidden_[kHidden - 1]});
  out_.keep({promise_key(forward, virtual_stage_, micro_batch_)}, op);
  if (blocking_p2p_) blocking_send_ = op;
}

void StageWriter::take_pending() {
  out_.also_after(blocking_send_);
  blocking_send_ = kNone<program::OpId>;
  if (receiving_) out_.also_after(awaited_);
  receiving_ = false;
  if (receiving_pair_) out_.also_after(awaited_pair_);
  receiving_pair_ = false;
}

program::OpId StageWriter::compute(Label label, Duration d) {
  last_compute_ = out_.delay(role_, label, program::OpClass::kCompute, slowed(d), {arrived_, arrived_inside_});
  arrived_ = arrived_inside_ = kNone<program::OpId>;
  take_pending();
  return last_compute_;
}

program::OpId StageWriter::tp(Label label, program::CallId call) {
  if (call == kNone<program::CallId>) return kNone<program::OpId>;
  const program::OpId op = out_.collective(role_, StreamId::kTp, label, program::OpClass::kTp, call, {last_compute_});
  take_pending();
  return op;
}

}  // namespace busbar::workload
