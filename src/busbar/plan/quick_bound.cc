#include "busbar/plan/quick_bound.h"

#include <algorithm>

namespace busbar {
namespace {

constexpr double kRounding = 1 - 1e-9;  // of kernels to whole picoseconds
constexpr double kBf16Bytes = 2;

double ps(Duration d) { return static_cast<double>(d.in_ps()); }

}  // namespace

const QuickBounds::Chunks& QuickBounds::chunks_of(const PlanPoint& p) {
  const auto [at, fresh] = chunks_.try_emplace({p.pp, p.vpp});
  if (!fresh) return at->second;
  LayoutSpec l = space_.base;
  l.tp = l.cp = l.ep = l.dp = l.micro_batch = 1;
  l.pp = p.pp;
  l.vpp = p.vpp;
  l.schedule = PipelineSchedule::k1F1B;
  l.global_batch = p.pp;
  if (const auto whole = resolve_layout(std::move(l), model_, p.pp); whole.ok()) at->second = whole->chunk_layers;
  return at->second;
}

const QuickBounds::Times& QuickBounds::times_of(const PlanPoint& p) {
  const auto [at, fresh] = times_.try_emplace({p.tp, p.cp, p.ep, p.micro_batch, p.recompute});
  if (fresh) at->second = measure(layout_of(space_, p, space_.base.zero));
  return at->second;
}

QuickBounds::Times QuickBounds::measure(const LayoutSpec& l) const {
  const StepTimes t = step_times(model_, l, kernels_);
  const double states = kBf16Bytes * l.tokens() * model_.hidden;
  const bool exposed = l.tp > 1 && !l.overlap_tp;  // each half of a layer: two in its forward pass, one in its backward
  const double call = exposed ? ps(floors_.gather(states, l.tp, l.rank_order[0] == ParallelAxis::kTp)) : 0;
  const double before = l.sequence_parallel ? 2 * call : call, after = l.sequence_parallel ? call : 0;
  // Of the halves with and without a window, the shorter.
  const bool windows = model_.window.tokens > 0;
  const auto least = [&](Duration full, Duration windowed) { return ps(windows ? std::min(full, windowed) : full); };
  const Passes attention{least(t.attention.forward(), t.windowed.forward()) + before,
                         least(t.attention.backward(), t.windowed.backward()) + after};
  const auto layer = [&](double forward, double backward, double skipped) {
    Passes p{attention.forward + forward, attention.backward + backward};
    if (l.recompute == Recompute::kFull && l.recompute_layers == 0) p.backward += p.forward - skipped;
    return p;
  };
  const double not_again = l.early_stop ? ps(t.mlp.out) + before : 0;
  const EndTimes& e = t.ends;
  Times out;
  out.dense = layer(ps(t.mlp.forward()) + before, ps(t.mlp.backward()) + after, not_again);
  out.experts = layer(ps(t.experts.forward()), ps(t.experts.backward()), 0);
  out.first = {ps(e.embedding), ps(e.embedding_back)};
  const double uses = 1 + model_.mtp;
  out.last = {uses * ps(e.head_norm + e.logits + e.loss),
              uses * ps(e.loss_back + e.logits_dgrad + e.logits_wgrad + e.head_norm_back)};
  return out;
}

QuickBounds::Passes QuickBounds::chunk(const Times& t, const Chunks& chunks, std::uint32_t place,
                                       std::uint32_t first_layer) const {
  Passes sum;
  const auto add = [&](const Passes& p, double n) {
    sum.forward += n * p.forward;
    sum.backward += n * p.backward;
  };
  if (place == 0) add(t.first, 1);
  std::uint32_t experts = 0;
  if (model_.moe.experts > 0)
    for (std::uint32_t i = 0; i < chunks[place]; ++i) experts += has_experts(model_, first_layer + i) ? 1 : 0;
  add(t.experts, experts);
  add(t.dense, chunks[place] - experts);
  if (place + 1 == chunks.size()) {
    add(t.last, 1);
    add(has_experts(model_, model_.layers) ? t.experts : t.dense, model_.mtp);
  }
  return sum;
}

Duration QuickBounds::of(const PlanPoint& p) {
  const Chunks& chunks = chunks_of(p);
  if (chunks.empty()) return {};
  const Times& t = times_of(p);
  LayoutSpec order;  // only for the places of chunks
  order.pp = p.pp;
  order.vpp = p.vpp;
  order.schedule = p.schedule;
  std::vector<double> work(p.pp);
  std::vector<Passes> first(p.pp);  // of each stage: its first chunk
  for (std::uint32_t place = 0, layer = 0; place < chunks.size(); layer += chunks[place++]) {
    const Passes passes = chunk(t, chunks, place, layer);
    work[order.stage_of(place)] += passes.forward + passes.backward;
    if (place < p.pp) first[place] = passes;
  }
  const double m = space_.base.global_batch / (p.dp * p.micro_batch);
  double before = 0, after = 0, most = 0;
  for (std::uint32_t s = 0; s < p.pp; ++s) {
    most = std::max(most, before + m * work[s] + after);
    before += first[s].forward;
    if (!order.splits_backward()) after += first[s].backward;
  }
  return Duration::ps(static_cast<std::int64_t>(most * space_.base.kernel_time * kRounding));
}

}  // namespace busbar
