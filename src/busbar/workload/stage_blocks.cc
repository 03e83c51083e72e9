// The halves of a layer: attention and MLP, forward and backward.
#include <vector>

#include "busbar/workload/internal/stage_writer.h"

namespace busbar::workload {

StageWriter::BlockLabels StageWriter::attention_labels() {
  return {Label::kAttention,
          Label::kAttentionBack,
          Label::kAttentionInput,
          Label::kAttentionWeights,
          Label::kGatherAttention,
          Label::kScatterAttention,
          Label::kGatherAttentionGradient,
          Label::kRegatherAttention,
          Label::kScatterAttentionGradient,
          Label::kAttentionAgain};
}

StageWriter::BlockLabels StageWriter::mlp_labels() {
  return {
      Label::kMlp,        Label::kMlpBack,           Label::kMlpInput,    Label::kMlpWeights,         Label::kGatherMlp,
      Label::kScatterMlp, Label::kGatherMlpGradient, Label::kRegatherMlp, Label::kScatterMlpGradient, Label::kMlpAgain};
}

/// A layer without a mixer, or without an MLP, has tensors of no size there.
void StageWriter::forward_layer(std::uint32_t layer, Run run) {
  const auto tensor = [&](TensorPart part) { return chunk_->plan.tensor(layer, part); };
  const std::uint32_t number = chunk_->first_layer + layer;
  const LayerKind& kind = times_.layers.kind(number);
  const bool stops_early = run == Run::kAgain && layout_.recomputation.early_stop;
  kind_ = times_.layers.of[number];
  if (kind.has_mixer())
    forward_block(times_.of(number).mixer, attention_labels(), tensor(TensorPart::kAttentionIn),
                  tensor(TensorPart::kAttentionOut), run, stops_early && !kind.has_mlp());
  if (kind.experts) return forward_experts(layer, run);
  if (kind.has_mlp())
    forward_block(times_.of(number).mlp, mlp_labels(), tensor(TensorPart::kMlpIn), tensor(TensorPart::kMlpOut), run,
                  stops_early);
}

void StageWriter::backward_layer(std::uint32_t layer) {
  const auto tensor = [&](TensorPart part) { return chunk_->plan.tensor(layer, part); };
  const auto half = [&](const BlockTimes& t, const BlockLabels& labels, TensorPart in, TensorPart out, bool is_there) {
    if (is_there) return backward_block(t, labels, tensor(in), tensor(out));
    if (layout_.splits_backward()) return;
    gradient_ready(tensor(out));
    gradient_ready(tensor(in));
  };
  const std::uint32_t number = chunk_->first_layer + layer;
  const LayerKind& kind = times_.layers.kind(number);
  kind_ = times_.layers.of[number];
  if (kind.experts)
    backward_experts(layer);
  else
    half(times_.of(number).mlp, mlp_labels(), TensorPart::kMlpIn, TensorPart::kMlpOut, kind.has_mlp());
  half(times_.of(number).mixer, attention_labels(), TensorPart::kAttentionIn, TensorPart::kAttentionOut,
       kind.has_mixer());
}

void StageWriter::forward_block(const BlockTimes& t, const BlockLabels& names, std::uint32_t in_tensor,
                                std::uint32_t out_tensor, Run run, bool stops_early) {
  const Label label = run == Run::kAgain ? names.again : names.forward;
  compute(Label::kNorm, t.norm);
  await_parameters(in_tensor);
  if (run == Run::kAgain) await_again(in_tensor);
  const program::OpId gathered = tp_open(names.gather);
  // A GEMM that is pipelined with its gather runs in TP pieces: all except one overlap it. One that is pipelined with
  // its scatter runs in chunks, each scattered while the next is computed.
  const Duration during_gather = overlap_tp_ ? t.in - piece(t.in) : Duration{};
  const Duration during_scatter = overlap_tp_ ? t.out - Duration::ps(t.out.in_ps() / kScatterChunks) : Duration{};
  if (overlap_tp_) compute(label, during_gather);
  arrived_ = gathered;
  const Duration before = t.in + t.middle - during_gather, out = stops_early ? Duration{} : t.out - during_scatter;
  if (layout_.cp > 1 && t.core > Duration{}) {
    compute(label, before - t.core);
    attend(label, t.core, false);
    if (!stops_early) compute(label, out);
  } else {
    compute(label, before + out);
  }
  await_parameters(out_tensor);
  if (stops_early) return;
  program::OpId scattered = overlap_tp_ ? tp(names.scatter, tp_scatter_first_) : tp_close(names.scatter);
  if (overlap_tp_) {
    compute(label, during_scatter);
    scattered = tp(names.scatter, tp_scatter_last_);
  }
  arrived_ = scattered;
}

void StageWriter::backward_block(const BlockTimes& t, const BlockLabels& names, std::uint32_t in_tensor,
                                 std::uint32_t out_tensor) {
  const program::OpId gathered = tp_open(names.gather_gradient);
  const Duration during_gather = overlap_tp_ ? t.out_dgrad - piece(t.out_dgrad) : Duration{};
  if (overlap_tp_) compute(names.backward, during_gather);
  if (gathered != kNone<program::OpId>) arrived_ = gathered;
  const bool splits = layout_.splits_backward();  // layer_weights() has the rest
  const Duration products = t.out_dgrad + (splits ? Duration{} : t.out_wgrad) - during_gather;
  if (layout_.cp > 1 && t.core > Duration{}) {
    compute(names.backward, products);
    await_again(out_tensor);
    attend(names.backward, t.core_back, true);
    compute(names.backward, t.middle_back - t.core_back);
  } else {
    compute(names.backward, products + t.middle_back);
    await_again(out_tensor);
  }
  if (!splits) gradient_ready(out_tensor);
  input_and_weights(names.input, t.in_dgrad, names.weights, t.in_wgrad, names.regather, names.scatter_gradient);
  compute(Label::kNormBack, t.norm_back);
  if (!splits) gradient_ready(in_tensor);
}

void StageWriter::layer_weights(std::uint32_t layer) {
  const auto block = [&](const BlockTimes& t, Label label, TensorPart in, TensorPart out) {
    compute(label, t.out_wgrad);
    gradient_ready(chunk_->plan.tensor(layer, out));
    compute(label, t.in_wgrad);
    gradient_ready(chunk_->plan.tensor(layer, in));
  };
  const auto& [mixer, mlp] = times_.of(chunk_->first_layer + layer);
  const bool experts = has_experts(model_, chunk_->first_layer + layer);
  if (experts) compute(Label::kExpertWeights, times_.experts.weights());
  block(experts ? times_.experts.shared : mlp, Label::kMlpWeights, TensorPart::kMlpIn, TensorPart::kMlpOut);
  block(mixer, Label::kAttentionWeights, TensorPart::kAttentionIn, TensorPart::kAttentionOut);
}

void StageWriter::attend(Label label, Duration core, bool backward) {
  const ContextCalls& c = context_[kind_];
  if (c.exchange != kNone<program::CallId>)
    return exchange_during(label, core, backward ? c.exchange_back : c.exchange);
  const auto exchange = [&](Label what, program::CallId call) {
    arrived_ = out_.collective(role_, StreamId::kCp, what, program::OpClass::kCp, call, {last_compute_});
  };
  if (c.to_heads != kNone<program::CallId>) {  // backward: the output's gradient comes, those of Q, K, V leave
    exchange(backward ? Label::kExchangeOutput : Label::kExchangeHeads, backward ? c.to_pieces : c.to_heads);
    compute(label, core);
    return exchange(backward ? Label::kExchangeHeads : Label::kExchangeOutput, backward ? c.to_heads : c.to_pieces);
  }
  exchange(Label::kGatherKeys, c.gather);
  compute(label, core);
  if (backward) exchange(Label::kScatterKeys, c.scatter);
}

/// Each rank begins with its own keys and values. Those of the others arrive while it works.
void StageWriter::exchange_during(Label label, Duration core, program::CallId exchange) {
  const std::uint32_t pieces = ring_pieces(layout_.cp);
  const program::OpId before = last_compute_;
  std::vector<program::OpId> arrivals;
  for (std::uint32_t i = 0; i < pieces; ++i) {
    arrivals.push_back(
        out_.collective(role_, StreamId::kCp, Label::kExchangeKeys, program::OpClass::kCp, exchange, {before}));
  }
  const Duration own = Duration::ps(core.in_ps() / layout_.cp), others = core - own;
  compute(label, own);
  for (std::uint32_t i = 0; i < pieces; ++i) {
    const Duration part = Duration::ps(others.in_ps() * (i + 1) / pieces - others.in_ps() * i / pieces);
    arrived_ = arrivals[i];
    compute(label, part);
  }
}

void StageWriter::input_and_weights(Label input, Duration dgrad, Label weights, Duration wgrad, Label regather,
                                    Label scatter) {
  const program::OpId gathered = tp_open(regather);
  compute(input, dgrad);
  const program::OpId scattered = tp_close(scatter);
  arrived_ = layout_.overlap.tp_backward ? gathered : scattered;
  if (!layout_.splits_backward()) compute(weights, wgrad);  // else the gathered input is kept until then
  arrived_ = scattered;
}

Duration StageWriter::piece(Duration d) const { return Duration::ps(d.in_ps() / layout_.tp); }

}  // namespace busbar::workload
