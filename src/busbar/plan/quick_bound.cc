#include "busbar/plan/internal/quick_bound.h"

#include <algorithm>
#include <cmath>

#include "busbar/plan/internal/memory_floor.h"
#include "busbar/plan/internal/slowed_stream.h"
#include "busbar/workload/expert_load.h"
#include "busbar/workload/memory.h"

namespace busbar::plan {
namespace {

constexpr double kRounding = 1 - 1e-9;  // of kernels to whole picoseconds
constexpr double kBf16Bytes = 2;
constexpr double kRoundedLoad = 1.0 / 256;  // of a rank: loads of pairs are in steps of so much (stage_experts.cc)

double ps(Duration d) { return static_cast<double>(d.in_ps()); }

/// A call of the first stage, over groups of `n` ranks at distance `stride`, `outer` of them.
program::CollectiveCall first_stage_call(collectives::Collective op, double bytes, std::uint32_t n,
                                         std::uint32_t stride, std::vector<collectives::Axis> outer) {
  program::CollectiveCall call;
  call.op = op;
  call.bytes = Bytes{static_cast<std::uint64_t>(bytes)};
  call.groups.inner = {{.extent = n, .actor_stride = stride}};
  call.groups.outer = std::move(outer);
  return call;
}

/// Whether ranks follow each other in this order within a stage, and each stage fills equal blocks: then all stages
/// have the floors of the first.
bool has_plain_ranks(const workload::RankOrder& order, std::uint32_t ranks, CallFloors& floors) {
  return order == workload::kTpCpDpPp && ranks % floors.block_gpus() == 0 && floors.repeats(ranks);
}
bool has_plain_ranks(const workload::LayoutSpec& l, CallFloors& floors) {
  return has_plain_ranks(l.rank_order, l.tp * l.cp * l.dp, floors);
}

/// Whether the ranks of TP and CP of a stage fill blocks.
bool has_whole_blocks(const workload::LayoutSpec& l, CallFloors& floors) {
  const std::uint32_t ranks = l.tp * l.cp;
  return l.rank_order == workload::kTpCpPpDp && ranks % floors.block_gpus() == 0 && floors.repeats(ranks);
}

}  // namespace

QuickBounds::QuickBounds(const PlanSpace& space, const workload::ModelSpec& model, const workload::KernelTable& kernels,
                         CallFloors& floors)
    : space_(space),
      model_(model),
      kernels_(kernels),
      floors_(floors),
      experts_before_(model.layers + 1),
      dense_share_(least_layer_share(model, 1, false)),
      expert_share_(model.moe.experts > 0 ? least_layer_share(model, 1, true) : dense_share_),
      routed_(model.moe.experts > 0 ? static_cast<double>(workload::expert_parameters(model)) * model.moe.experts : 0) {
  for (std::uint32_t i = 0; i < model.layers; ++i)
    experts_before_[i + 1] = experts_before_[i] + (workload::has_experts(model, i) ? 1 : 0);
}

const QuickBounds::Chunks& QuickBounds::chunks_of(const PlanPoint& p) {
  const auto [at, fresh] = chunks_.try_emplace({p.pp, p.vpp});
  if (!fresh) return at->second;
  workload::LayoutSpec l = space_.base;
  l.tp = l.cp = l.ep = l.dp = l.batch.micro = 1;
  l.pp = p.pp;
  l.vpp = p.vpp;
  l.schedule = workload::PipelineSchedule::k1F1B;
  l.batch.global = p.pp;
  l.sharding.zero = 1;  // and no option that not every such layout allows
  l.sharding.accumulate_gradients = l.sharding.whole_tensors = false;
  l.sharding.group = l.sharding.secondary = l.expert_tp = l.straggler.stage = 0;
  if (const auto whole = workload::resolve_layout(std::move(l), model_, p.pp); whole.ok())
    at->second = whole->split.chunk_layers;
  return at->second;
}

const QuickBounds::Times& QuickBounds::times_of(const PlanPoint& p) {
  const TimesKey key{p.tp, p.cp, p.dp, p.ep, p.micro_batch, p.recompute.key(), p.order};
  if (last_times_.second != nullptr && last_times_.first == key) return *last_times_.second;
  const auto [at, fresh] = times_.try_emplace(key);
  last_times_ = {key, &at->second};
  if (!fresh) return at->second;
  const workload::LayoutSpec layout = layout_of(space_, p, space_.base.sharding.zero);
  const auto [known, unknown] = step_times_.try_emplace({p.tp, p.cp, p.ep, p.micro_batch, p.recompute.key()});
  if (unknown) known->second = workload::step_times(model_, layout, kernels_);
  at->second = measure(known->second, layout);
  return at->second;
}

Duration QuickBounds::mean_stage(const PlanPoint& p) {
  const Times& t = times_of(p);
  const double experts = experts_before_.back(), dense = model_.layers - experts;
  const auto both = [](const Passes& all) { return all.forward + all.backward; };
  const double pass = dense * both(t.dense) + experts * both(t.experts) + both(t.first) + both(t.last);
  const double m = space_.base.batch.global / (p.dp * p.micro_batch);
  return Duration::ps(static_cast<std::int64_t>(m * pass / p.pp * kRounding));
}

/// What stage_blocks.cc and stage_experts.cc of workload write.
QuickBounds::Exposed QuickBounds::exposed(const workload::LayoutSpec& l) {
  Exposed out;
  if (!has_plain_ranks(l, floors_)) return out;
  const auto time = [&](collectives::Collective op, double bytes, std::uint32_t n, std::uint32_t stride,
                        std::uint32_t copies) {
    std::vector<collectives::Axis> outer{{.extent = stride, .actor_stride = 1},
                                         {.extent = copies, .actor_stride = stride * n}};
    return ps(floors_.of(first_stage_call(op, bytes, n, stride, std::move(outer))));
  };
  if (l.cp > 1 && l.context != workload::ContextParallel::kAllToAll) {
    double elements = INFINITY;  // of the keys of a token, in the layers that have fewest
    for (const workload::LayerKind& kind : workload::layer_table(model_).kinds)
      elements = std::min(elements, workload::has_scores(kind.mixer)
                                        ? 1.0 * workload::attention_width(kind.mixer) *
                                              std::max(1u, workload::mixer_key_heads(kind.mixer) / l.tp)
                                        : 0.0);
    const double keys = 2 * kBf16Bytes * l.tokens() * l.cp * elements;
    const double gather = time(collectives::Collective::kAllGather, keys, l.cp, l.tp, l.dp);
    out.core = gather;
    out.core_back = 2 * gather;  // ring: their gradients too; else gathered, and scattered
  }
  out.experts = exchanges_of(l, 0, 1);
  return out;
}

/// Picoseconds of the exchanges of experts' tokens that a layer of a stage waits for. Neither where some of them run
/// under computation, nor where tokens are dropped: the busiest rank may have less than the mean load.
QuickBounds::Passes QuickBounds::exchanges_of(const workload::LayoutSpec& l, std::uint32_t stage, double least_load) {
  if (l.ep < 2 || l.experts.overlap > 0 || l.experts.exchange != workload::ExpertExchange::kAllToAll ||
      l.experts.capacity > 0)
    return {};
  const std::uint32_t stride = l.expert_tensor(), ranks = l.tp * l.cp * l.dp;
  const double words =
      static_cast<double>(l.routed_tokens()) * workload::routed_hidden(model_) * model_.moe.per_token * least_load;
  const auto time = [&](double bytes) {
    std::vector<collectives::Axis> outer{{.extent = stride, .actor_stride = 1},
                                         {.extent = ranks / (stride * l.ep), .actor_stride = stride * l.ep}};
    program::CollectiveCall call =
        first_stage_call(collectives::Collective::kAllToAll, bytes - 1, l.ep, stride, std::move(outer));
    call.groups.base = stage * ranks;
    return ps(floors_.of(call));
  };
  const double there = time(words * l.experts.dispatch_bytes), back = time(words * kBf16Bytes);
  return {there + back, 2 * back};
}

/// Groups of equal members in all servers have the floors that the other bounds know.
const QuickBounds::Straddling& QuickBounds::straddling(const PlanPoint& p) {
  const auto [at, fresh] = straddling_.try_emplace({p.tp, p.cp, p.pp, p.ep, p.micro_batch});
  if (!fresh || p.ep < 2 || p.order != workload::kTpCpDpPp) return at->second;
  workload::LayoutSpec l = layout_of(space_, p, space_.base.sharding.zero);
  const std::uint32_t span = l.expert_tensor() * p.ep, ranks = p.tp * p.cp * p.dp, block = floors_.block_gpus();
  if ((block % span == 0 && ranks % span == 0 && ranks % block == 0) || span % block == 0) return at->second;
  l.pp = p.pp;
  const std::vector<double> loads = workload::rank_loads(model_, l);
  const double least = *std::min_element(loads.begin(), loads.end()) - kRoundedLoad;
  for (std::uint32_t stage = 0; stage < std::min(p.pp, 2u); ++stage)
    at->second[stage] = exchanges_of(l, stage, std::max(0.0, least));
  return at->second;
}

double QuickBounds::slowed(Duration kernel) const { return ps(kernel) * space_.base.kernel_time; }

QuickBounds::Times QuickBounds::measure(const workload::StepTimes& t, const workload::LayoutSpec& l) {
  const Exposed waits = exposed(l);
  const double states = kBf16Bytes * l.tokens() * model_.hidden;
  const bool shows = l.tp > 1 && !l.overlap.tp;  // each half of a layer: two in its forward pass, one in its backward
  const bool whole = has_plain_ranks(l, floors_) || has_whole_blocks(l, floors_);
  const bool neighbours = l.rank_order[0] == workload::ParallelAxis::kTp;
  const double call = shows ? ps(floors_.gather(states, l.tp, neighbours, l.sequence_parallel, whole)) : 0;
  const double before = l.sequence_parallel ? 2 * call : call, after = l.sequence_parallel ? call : 0;
  const auto attention_of = [&](const workload::BlockTimes& b) {
    const bool ring = l.context == workload::ContextParallel::kRing;
    const auto added = [&](Duration core, double comm) { return ring ? std::max(0.0, comm - slowed(core)) : comm; };
    return Passes{slowed(b.forward()) + added(b.core, waits.core) + before,
                  slowed(b.backward()) + added(b.core_back, waits.core_back) + after};
  };
  const auto layer = [&](const workload::LayerKind& kind, const workload::LayerTimes& times) {
    Passes p = kind.has_mixer() ? attention_of(times.mixer) : Passes{};
    if (kind.experts) {
      p.forward += slowed(t.experts.forward()) + waits.experts.forward;
      p.backward += slowed(t.experts.backward()) + waits.experts.backward;
    } else if (kind.has_mlp()) {
      p.forward += slowed(times.mlp.forward()) + before;
      p.backward += slowed(times.mlp.backward()) + after;
    }
    const Duration last = kind.has_mlp() ? times.mlp.out : times.mixer.out;
    const double not_again = l.recomputation.early_stop && !kind.experts ? slowed(last) + before : 0;
    if (l.recomputation.kind == workload::Recompute::kFull && l.recomputation.layers == 0)
      p.backward += p.forward - not_again;
    return p;
  };
  const auto least = [&](bool experts) {  // of all kinds of layers with experts, or without
    Passes p{INFINITY, INFINITY};
    for (std::size_t k = 0; k < t.kinds.size(); ++k) {
      if (t.layers.kinds[k].experts != experts) continue;
      const Passes one = layer(t.layers.kinds[k], t.kinds[k]);
      p = {std::min(p.forward, one.forward), std::min(p.backward, one.backward)};
    }
    return std::isinf(p.forward) ? Passes{} : p;
  };
  const workload::EndTimes& e = t.ends;
  Times out;
  out.tp_wait = call;
  out.exchanges = waits.experts;
  const bool again = l.recomputation.kind == workload::Recompute::kFull;
  out.dense_wait = 2 * before + 2 * after + waits.core + waits.core_back + (again ? 2 * before + waits.core : 0);
  out.experts_wait =
      out.dense_wait + waits.experts.forward + waits.experts.backward + (again ? waits.experts.forward : 0);
  out.dense = least(false);
  out.experts = least(true);
  out.first = {slowed(e.embedding), slowed(e.embedding_back)};
  const double uses = 1 + model_.mtp;
  out.last = {uses * slowed(e.head_norm + e.logits + e.loss),
              uses * slowed(e.loss_back + e.logits_dgrad + e.logits_wgrad + e.head_norm_back)};
  return out;
}

const std::vector<QuickBounds::StageLoad>& QuickBounds::loads_of(const PlanPoint& p) {
  const auto [at, fresh] = loads_.try_emplace({p.pp, p.vpp, p.schedule});
  if (!fresh) return at->second;
  const Chunks& chunks = chunks_of(p);
  workload::LayoutSpec order;  // only for the places of chunks
  order.pp = p.pp;
  order.vpp = p.vpp;
  order.schedule = p.schedule;
  at->second.resize(p.pp);
  Load before;
  for (std::uint32_t place = 0, layer = 0; place < chunks.size(); layer += chunks[place++]) {
    Load load;
    load.experts = experts_before_[layer + chunks[place]] - experts_before_[layer];
    load.dense = chunks[place] - load.experts;
    if (place == 0) load.first = 1;
    if (place + 1 == chunks.size()) {
      load.last = 1;
      (workload::has_experts(model_, model_.layers) ? load.experts : load.dense) += model_.mtp;
    }
    StageLoad& stage = at->second[order.stage_of(place)];
    stage.all += load;
    if (place + p.pp >= chunks.size()) stage.before_last = before;
    before += load;
    if (place < p.pp) at->second[place].first_chunk = load;
    if (place + p.pp >= chunks.size()) stage.last_chunk = load;
  }
  return at->second;
}

/// What stage_writer.cc of workload writes.
const QuickBounds::Sends& QuickBounds::sends_of(const PlanPoint& p) {
  const workload::LayoutSpec layout = layout_of(space_, p, space_.base.sharding.zero);
  const std::uint64_t states = std::uint64_t{2} * layout.tokens() * model_.hidden;
  const std::uint64_t bytes = layout.sequence_parallel ? states / p.tp : states;
  const auto [at, fresh] = sends_.try_emplace({p.pp, bytes});
  if (!fresh) return at->second;
  const std::uint32_t ranks = p.tp * p.cp * p.dp;
  const auto time = [&](std::uint32_t from, std::uint32_t to) {
    program::CollectiveCall call = first_stage_call(collectives::Collective::kSendRecv, 0, 2, (to - from) * ranks,
                                                    {{.extent = ranks, .actor_stride = 1}});
    call.bytes = Bytes{bytes};
    call.groups.base = from * ranks;
    call.algorithm = "auto";
    return ps(floors_.send(call));
  };
  Sends& out = at->second;
  for (std::uint32_t stage = 0; stage < p.pp; ++stage) {
    out.next.push_back(time(stage, (stage + 1) % p.pp));
    out.previous.push_back(time(stage, (stage + p.pp - 1) % p.pp));
    out.lap += out.next.back();
    out.lap_back += out.previous.back();
  }
  return out;
}

QuickBounds::Kernels QuickBounds::of(const PlanPoint& p, bool sends) {
  if (chunks_of(p).empty()) return {};
  const Times& t = times_of(p);
  const bool again = p.recompute == workload::Recompute::kFull && space_.base.recomputation.layers == 0;
  Straddling more{};  // than the exchanges that are known for all stages
  if (sends)
    for (std::size_t r = 0; r < more.size(); ++r) {
      const Passes& all = straddling(p)[r];
      more[r].forward = std::max(0.0, all.forward - t.exchanges.forward);
      more[r].backward = std::max(0.0, all.backward - t.exchanges.backward) + (again ? more[r].forward : 0);
    }
  const auto forward = [&](const Load& l) {
    return l.dense * t.dense.forward + l.experts * t.experts.forward + l.first * t.first.forward +
           l.last * t.last.forward;
  };
  const auto backward = [&](const Load& l) {
    return l.dense * t.dense.backward + l.experts * t.experts.backward + l.first * t.first.backward +
           l.last * t.last.backward;
  };
  order_.schedule = p.schedule;
  const bool waits = !order_.splits_backward(), comes_back = waits && !order_.goes_back();
  const bool rounds = p.vpp > 1 && p.schedule == workload::PipelineSchedule::k1F1B;
  const double m = space_.base.batch.global / (p.dp * p.micro_batch), laps = p.vpp - 1;
  static const Sends kNoSends;
  const Sends& sent = sends && p.pp > 1 && p.order == workload::kTpCpDpPp ? sends_of(p) : kNoSends;
  double around = 0;           // of the stages before, their first pass and their last one
  double there = 0, back = 0;  // the sends between these
  double passes = 0, most = 0, one = 0, own = 0, waits_of_own = 0;
  const std::vector<StageLoad>& stages = loads_of(p);
  for (std::uint32_t r = 0; r < p.pp; ++r) {
    const StageLoad& stage = stages[r];
    const Passes wait = r < more.size() ? more[r] : Passes{};
    const double all = forward(stage.all) + stage.all.experts * wait.forward,
                 all_back = backward(stage.all) + stage.all.experts * wait.backward;
    const double next = sent.next.empty() ? 0 : sent.next[r], previous = sent.next.empty() ? 0 : sent.previous[r];
    if (r > 0 && waits) back += previous;
    one += all + (comes_back && r > 0 ? backward(stage.last_chunk) : 0);
    const double in_order = around + there + back + m * (all + all_back);
    if (r == 0) {
      own = in_order;
      waits_of_own =
          m * (stage.all.dense * t.dense_wait + stage.all.experts * (t.experts_wait + wait.forward + wait.backward));
    }
    passes = std::max(passes, in_order);
    if (rounds) {  // micro-batch 0 passes all chunks before the last one of this stage, and the last one comes back
      const double first = p.pp * (all - forward(stage.last_chunk)),
                   last = p.pp * (all_back - backward(stage.last_chunk));
      most = std::max(most, forward(stage.before_last) + backward(stage.before_last) + there + back +
                                laps * (sent.lap + sent.lap_back) + m * (all + all_back) - first - last);
    } else if (waits && p.vpp == 1) {  // the next pass waits for the send of this one
      most = std::max(most, in_order + (r + 1 < p.pp ? m * next : 0) + (r > 0 ? (m - 1) * previous : 0));
    }
    around += forward(stage.first_chunk) + (waits ? backward(stage.first_chunk) : 0);
    there += next;
  }
  if (comes_back && !sent.next.empty()) one += p.vpp * sent.lap - sent.next.back() + back;
  const auto whole = [](double time) { return Duration::ps(static_cast<std::int64_t>(time * kRounding)); };
  return {whole(std::max(passes, most)),     whole(passes), whole(one),  duration_from_ps(t.tp_wait),
          duration_from_ps(t.first.forward), whole(own),    waits_of_own};
}

const QuickBounds::StageShards& QuickBounds::shards_of(const PlanPoint& p) {
  const auto [at, fresh] = shards_.try_emplace({p.pp, p.vpp, p.schedule});
  if (!fresh) return at->second;
  StageShards& out = at->second;
  const Chunks& chunks = chunks_of(p);
  workload::LayoutSpec order;  // only for the places of chunks
  order.pp = p.pp;
  order.vpp = p.vpp;
  order.schedule = p.schedule;
  std::vector<Firsts> firsts(p.pp);
  for (std::uint32_t place = 0, layer = 0; place < chunks.size(); layer += chunks[place++]) {
    const std::uint32_t layers = chunks[place], stage = order.stage_of(place);
    if (layers == 0) continue;
    if (place > 0) firsts[stage].layer += 1;
    if (place > 0 && workload::has_experts(model_, layer)) firsts[stage].experts += 1;
    if (stage > 0) continue;
    const double with = experts_before_[layer + layers] - experts_before_[layer], without = layers - with;
    const double dense = without * dense_share_ + with * expert_share_, routed = with * routed_;
    out.all.dense += dense;
    out.all.routed += routed;
    out.again.dense += dense - std::max(without > 0 ? dense_share_ : 0, with > 0 ? expert_share_ : 0);
    out.again.routed += routed - (with > 0 ? routed_ : 0);
  }
  out.all.dense += static_cast<double>(workload::embedding_parameters(model_));
  const auto least = [&] {
    Firsts f = firsts.front();
    for (const Firsts& stage : firsts) f = {std::min(f.layer, stage.layer), std::min(f.experts, stage.experts)};
    return f;
  };
  out.without = least();
  if (chunks[0] > 0) firsts[0] = {firsts[0].layer + 1, firsts[0].experts + (workload::has_experts(model_, 0) ? 1u : 0)};
  out.with = least();
  return out;
}

const QuickBounds::ShardRates& QuickBounds::shard_rates(const PlanPoint& p, std::uint32_t sharing) {
  const std::uint32_t n = p.dp * p.cp, alike = p.ep * sharing, copies = n * p.tp / alike;
  const auto [at, fresh] = rates_.try_emplace({p.tp, n, alike});
  if (!fresh) return at->second;
  constexpr double kPart = 1e9;  // bytes
  const auto rate = [&](std::uint32_t ranks, std::uint32_t stride) {
    if (ranks < 2) return 0.0;
    Duration least = Duration::max();
    for (const collectives::Collective op :
         {collectives::Collective::kAllGather, collectives::Collective::kReduceScatter})
      least = std::min(least,
                       floors_.of(first_stage_call(op, kPart, ranks, stride, {{.extent = stride, .actor_stride = 1}})));
    return ps(least - floors_.launch()) / kPart;
  };
  at->second = {rate(n, p.tp), model_.moe.experts > 0 ? rate(copies, alike) : 0};
  return at->second;
}

/// Every forward pass waits until the first unit of its chunk is gathered; of all stages the least. A TP collective of
/// the pass before may run at the same time. The first layer of the model is gathered while the embedding computes.
double QuickBounds::first_units(const PlanPoint& p, const ShardRates& rates, std::uint32_t sharing,
                                const Kernels& kernels) {
  if (!has_plain_ranks(p.order, p.tp * p.cp * p.dp, floors_)) return 0;
  const double parameter = space_.base.exchange.parameter_bytes, wait = ps(kernels.tp_wait);
  const double dense = parameter / p.tp * rates.dense, routed = routed_ * parameter / p.ep / sharing * rates.routed;
  const bool hides = static_cast<double>(workload::embedding_parameters(model_)) * dense < ps(kernels.embedding);
  const Firsts& n = hides ? shards_of(p).without : shards_of(p).with;
  const double plain = std::max(0.0, dense_share_ * dense - wait);
  const double experts = std::max(0.0, expert_share_ * dense + routed - wait);
  return experts < plain ? n.layer * experts : n.layer * plain + n.experts * (experts - plain);
}

Duration QuickBounds::of(const PlanPoint& p, std::uint32_t zero, const Kernels& kernels) {
  const workload::LayoutSpec& base = space_.base;
  if (base.adapters.any()) return kernels.bound;  // few gradients, few states, other bytes of weights
  const Duration bound = of_shards(p, zero, kernels);
  if (bound == Duration() || !(base.offload.optimizer || base.offload.activations)) return bound;
  const Duration passes = std::max(kernels.own, base.offload.activations ? host_copies(p) : Duration());
  return std::max(bound, passes + (base.offload.optimizer ? host_update(p, zero) : Duration()));
}

/// The first stage copies `bytes` of each of its GPUs to host memory, or from there.
double QuickBounds::copy_ps(const PlanPoint& p, double bytes, bool to_host) {
  if (kernels_.host_ranks == 0) return bytes / kernels_.host_bytes_per_s * 1e12;
  const std::uint32_t ranks = p.tp * p.cp * p.dp;
  if (!has_plain_ranks(p.order, ranks, floors_)) return 0;
  program::CollectiveCall call = first_stage_call(collectives::Collective::kSendRecv, bytes, 2, kernels_.host_ranks,
                                                  {{.extent = ranks, .actor_stride = 1}});
  if (!to_host) {
    call.groups.base = kernels_.host_ranks;
    call.groups.inner[0].actor_stride = 0u - kernels_.host_ranks;
  }
  call.algorithm = "direct";
  call.protocol = program::Protocol::kSimple;
  return ps(floors_.of(call));
}

/// What each layer of the first stage keeps goes to host memory and comes back, one copy after another.
Duration QuickBounds::host_copies(const PlanPoint& p) {
  order_.schedule = p.schedule;
  order_.pp = p.pp;
  order_.vpp = p.vpp;
  double layers = 0;
  const Chunks& chunks = chunks_of(p);
  for (std::uint32_t place = 0; place < chunks.size(); ++place)
    if (order_.stage_of(place) == 0) layers += chunks[place];
  const workload::LayoutSpec layout = layout_of(space_, p, space_.base.sharding.zero);
  const auto bytes = static_cast<double>(layout.recomputation.kind == workload::Recompute::kFull
                                             ? workload::checkpoint_bytes_per_layer(model_, layout)
                                             : workload::most_activation_bytes(model_, layout));
  const double m = space_.base.batch.global / (p.dp * p.micro_batch);
  const double one = copy_ps(p, bytes, true) + copy_ps(p, bytes, false);
  return Duration::ps(static_cast<std::int64_t>(m * layers * one * kRounding));
}

/// The first stage's update on the CPU comes after its last pass: gradients there, parameters back.
Duration QuickBounds::host_update(const PlanPoint& p, std::uint32_t zero) {
  workload::LayoutSpec l = layout_of(space_, p, zero);
  const Shards& all = shards_of(p).all;
  const double sharing = l.expert_tensor(), copies = zero >= 1 ? l.tp * l.cp * l.dp / (l.ep * sharing) : 1;
  const double shard =
      all.dense / l.tp / (l.shards_optimizer() ? l.shard_ranks() : 1) + all.routed / l.ep / sharing / copies;
  const workload::OptimizerTimes t = workload::optimizer_times(0, static_cast<std::uint64_t>(shard), l, kernels_);
  double sum = slowed(t.update);
  if (t.to_host > 0) sum += copy_ps(p, static_cast<double>(t.to_host), true);
  if (t.from_host > 0) sum += copy_ps(p, static_cast<double>(t.from_host), false);
  return Duration::ps(static_cast<std::int64_t>(sum * kRounding));
}

/// The passes of the first stage, slowed by shards that take `time` to cross, as far as they do not cross while the
/// stage waits.
double QuickBounds::among_shards(double time, const Kernels& kernels) const {
  const double share = floors_.registered() ? 0 : counted_share(kernels_.contention, program::OpClass::kDp);
  return ps(kernels.own) + share * std::max(0.0, time - kernels.waits);
}

/// The first stage's shards cross its dp stream one call after another. Its layers at least: each is gathered before
/// its forward and its backward pass (the last of a chunk may stay in between) and its gradients are reduced, none
/// before the first is there.
Duration QuickBounds::of_shards(const PlanPoint& p, std::uint32_t zero, const Kernels& kernels) {
  const workload::LayoutSpec& base = space_.base;
  if (zero < 2 || p.dp * p.cp < 2 || base.sharding.group > 0 || kernels.bound == Duration()) return kernels.bound;
  if (p.order != workload::kTpCpDpPp) return kernels.bound;
  const std::uint32_t sharing = base.expert_tp > 0 ? base.expert_tp : p.ep > 1 ? 1 : p.tp;
  const ShardRates& rates = shard_rates(p, sharing);
  const StageShards& stage = shards_of(p);
  const auto time = [&](const Shards& s, double bytes) {
    return bytes * (s.dense / p.tp * rates.dense + s.routed / p.ep / sharing * rates.routed);
  };
  const double m = base.batch.global / (p.dp * p.micro_batch);
  const bool reduces = !base.sharding.accumulate_gradients && base.exchange.compression.bytes <= 0;
  const double reduced = reduces ? m * time(stage.all, base.exchange.gradient_bytes) : 0;
  double gathered = 0, first = 0;
  if (zero >= 3 && (base.sharding.reshard || p.pp == 1)) {
    const bool again = base.sharding.reshard && base.sharding.secondary == 0;
    gathered = m * (time(stage.all, base.exchange.parameter_bytes) +
                    (again ? time(stage.again, base.exchange.parameter_bytes) : 0));
    first = m * first_units(p, rates, sharing, kernels);
  }
  const double least = std::max({gathered + reduced, reduced > 0 ? ps(kernels.first_gradient) + reduced : 0,
                                 ps(kernels.passes) + first, among_shards(gathered + reduced, kernels)});
  return std::max(kernels.bound, Duration::ps(static_cast<std::int64_t>(least * kRounding)));
}

}  // namespace busbar::plan
