#include "busbar/plan/space.h"

#include <algorithm>
#include <initializer_list>

namespace busbar::plan {
namespace {

bool allows(const std::vector<std::uint32_t>& list, std::uint32_t value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

/// The divisors of n that `list` allows, ascending.
std::vector<std::uint32_t> divisors(std::uint32_t n, const std::vector<std::uint32_t>& list) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t d = 1; d <= n; ++d)
    if (n % d == 0 && allows(list, d)) out.push_back(d);
  return out;
}

/// The axes in the order of `o` that have ranks.
std::vector<workload::ParallelAxis> axes_of(const PlanPoint& p, const workload::RankOrder& o) {
  std::vector<workload::ParallelAxis> out;
  for (const workload::ParallelAxis a : o) {
    const std::uint32_t n = a == workload::ParallelAxis::kTp   ? p.tp
                            : a == workload::ParallelAxis::kCp ? p.cp
                            : a == workload::ParallelAxis::kDp ? p.dp
                                                               : p.pp;
    if (n > 1) out.push_back(a);
  }
  return out;
}

workload::RecomputeModules modules_of(const PlanSpace& space, const PlanRecompute& r) {
  return r.modules.value_or(space.base.recomputation.modules);
}

/// The modules that free memory: fused attention keeps no scores.
PlanRecompute saving(const PlanSpace& space, const workload::ModelSpec& model, const PlanRecompute& r) {
  if (r.kind != workload::Recompute::kSelective) return r.kind;
  workload::RecomputeModules m = modules_of(space, r);
  m.core_attn = m.core_attn && space.base.attention == workload::AttentionKernel::kUnfused;
  m.mla_up_proj = m.mla_up_proj && model.latent.kv_rank > 0;
  const bool any = m.core_attn || m.act || m.layernorm || m.mla_up_proj;
  return any ? PlanRecompute(workload::Recompute::kSelective, m) : workload::Recompute::kNone;
}

/// One of each that differs, as the list writes it; what frees nothing is none at all, if that is in the list.
std::vector<PlanRecompute> different(const PlanSpace& space, const workload::ModelSpec& model) {
  std::vector<PlanRecompute> out;
  std::vector<std::uint32_t> met;
  for (const bool none : {true, false})  // first what the list calls none
    for (const PlanRecompute& r : space.recompute)
      if (none == (r.kind == workload::Recompute::kNone)) {
        const std::uint32_t key = saving(space, model, r).key();
        if (std::find(met.begin(), met.end(), key) != met.end()) continue;
        met.push_back(key);
        out.push_back(r.modules ? saving(space, model, r) : r);
      }
  return out;
}

class Points {
 public:
  Points(const PlanSpace& space, const workload::ModelSpec& model, const std::function<void(const PlanPoint&)>& visit)
      : space_(space),
        model_(model),
        orders_(space.order.empty() ? std::vector<workload::RankOrder>{space.base.rank_order} : space.order),
        recompute_(different(space, model)),
        visit_(visit) {}

  void add_degrees(std::uint32_t gpus) {
    for (const std::uint32_t pp : divisors(gpus, space_.pp))
      for (const std::uint32_t cp : divisors(gpus / pp, space_.cp))
        for (const std::uint32_t tp : divisors(gpus / pp / cp, space_.tp)) {
          PlanPoint p{.tp = tp, .pp = pp, .dp = gpus / pp / cp / tp, .cp = cp};
          if (pp > model_.layers + 2 || model_.heads % tp != 0 || !allows(space_.dp, p.dp)) continue;
          if (space_.base.batch.global % p.dp == 0) add_orders(p);
        }
  }

 private:
  void add_orders(PlanPoint p) {
    std::vector<std::vector<workload::ParallelAxis>> met;
    for (const workload::RankOrder& o : orders_) {
      if (std::find(met.begin(), met.end(), axes_of(p, o)) != met.end()) continue;
      met.push_back(axes_of(p, o));
      p.order = o;
      add_experts(p);
    }
  }
  void add_experts(PlanPoint p) {
    for (const std::uint32_t ep : divisors(std::max(1u, model_.moe.experts), space_.ep)) {
      p.ep = ep;
      if (p.tp * p.cp * p.dp % ep == 0) add_batches(p);
    }
  }
  void add_batches(PlanPoint p) {
    const std::uint32_t sequences = space_.base.batch.global / p.dp;
    for (const std::uint32_t b : divisors(sequences, space_.micro_batch)) {
      p.micro_batch = b;
      for (const PlanRecompute& r : recompute_) {
        p.recompute = r;
        add_schedules(p, sequences / b);
      }
    }
  }
  void add_schedules(PlanPoint p, std::uint32_t micro_batches) {
    for (const workload::PipelineSchedule s : space_.schedule) {
      p.schedule = order_.schedule = s;
      add_chunks(p, micro_batches);
    }
  }
  void add_chunks(PlanPoint p, std::uint32_t micro_batches) {
    const bool one = p.pp == 1, v = order_.goes_back();
    if (one && p.schedule != workload::PipelineSchedule::k1F1B) return;
    if (v && micro_batches < (p.schedule == workload::PipelineSchedule::kDualPipeV ? 2 * p.pp : p.pp)) return;
    const bool interleaves = !one && p.schedule == workload::PipelineSchedule::k1F1B && micro_batches % p.pp == 0;
    const std::uint32_t first = v ? 2 : 1, last = v ? 2 : interleaves ? (model_.layers + 2) / p.pp : 1;
    for (std::uint32_t vpp = first; vpp <= last; ++vpp) {
      if (!allows(space_.vpp, vpp)) continue;
      p.vpp = vpp;
      visit_(p);
    }
  }

  const PlanSpace& space_;
  const workload::ModelSpec& model_;
  const std::vector<workload::RankOrder> orders_;
  const std::vector<PlanRecompute> recompute_;
  const std::function<void(const PlanPoint&)>& visit_;
  workload::LayoutSpec order_;  ///< only its schedule
};

}  // namespace

std::string name_of(const PlanRecompute& r) {
  if (!r.modules) return workload::name_of(r.kind);
  std::string out;
  for (const auto& [name, module] : kRecomputeModules)
    if (*r.modules.*module) out += (out.empty() ? "" : "+") + std::string(name);
  return out;
}

std::uint32_t PlanRecompute::key() const {
  const workload::RecomputeModules m = modules.value_or(workload::RecomputeModules{});
  std::uint32_t named = 1;  // the leading bit: modules are given
  for (const auto& [name, module] : kRecomputeModules) named = 2 * named + (m.*module ? 1 : 0);
  return static_cast<std::uint32_t>(kind) + 4 * (modules ? named : 0);
}

void for_each_point(const PlanSpace& space, const workload::ModelSpec& model, std::uint32_t gpus,
                    const std::function<void(const PlanPoint&)>& visit) {
  Points(space, model, visit).add_degrees(gpus);
}

std::vector<PlanPoint> points_of(const PlanSpace& space, const workload::ModelSpec& model, std::uint32_t gpus) {
  std::vector<PlanPoint> out;
  for_each_point(space, model, gpus, [&](const PlanPoint& p) { out.push_back(p); });
  return out;
}

bool is_usual(const PlanPoint& p, const PlanSpace& space, std::uint32_t domain) {
  constexpr std::uint32_t kMostTp = 8, kMostBatch = 4, kFewBatches = 2, kMostChunks = 6, kTokens = 4096;
  const std::uint32_t experts = p.ep * (space.base.expert_tp > 0 ? space.base.expert_tp : p.ep > 1 ? 1 : p.tp);
  const bool whole = domain % experts == 0 || experts % domain == 0;
  const std::uint32_t stage = p.tp * p.cp * p.dp;
  const auto& again = p.recompute.modules;
  const bool plain = p.order == space.base.rank_order && !(again && again->layernorm && !again->mla_up_proj);
  const bool few = p.pp == 1 && p.dp * p.micro_batch * kFewBatches >= space.base.batch.global;
  const bool aligned = stage % domain == 0 || domain % stage == 0;
  return plain && p.tp <= kMostTp && domain % p.tp == 0 && whole && aligned && (few || p.micro_batch <= kMostBatch) &&
         p.vpp <= kMostChunks && p.schedule != workload::PipelineSchedule::kGPipe &&
         p.cp <= std::max(1u, space.base.batch.seq / kTokens);
}

std::span<const std::uint32_t> zero_of(const PlanSpace& space, const workload::ModelSpec& model, const PlanPoint& p) {
  const workload::LayoutSpec& base = space.base;
  const bool free = base.sharding.secondary == 0 && !base.sharding.whole_tensors &&
                    !base.sharding.accumulate_gradients;  // of one degree
  const std::uint32_t tensor = base.expert_tp > 0 ? base.expert_tp : p.ep > 1 ? 1 : p.tp;
  const bool shared = p.dp * p.cp > 1 || (model.moe.experts > 0 && p.tp > p.ep * tensor);
  return std::span(space.zero).first(free && !shared ? std::min<std::size_t>(1, space.zero.size()) : space.zero.size());
}

bool PlanChange::concerns(const workload::LayoutSpec& l) const {
  if (experts)
    return l.ep > 1 && (l.experts.exchange != experts->exchange || l.experts.overlap != experts->overlap ||
                        l.experts.fused != experts->fused);
  if (split) return l.pp > 1;
  return l.pp > 1 && l.dp > 1 && l.rank_order != *order;
}

void PlanChange::apply(workload::LayoutSpec& l) const {
  if (experts) {
    l.experts.exchange = experts->exchange;
    l.experts.overlap = experts->overlap;
    l.experts.fused = experts->fused;
  }
  if (split) l.split = *split;  // without chunks: they are for resolve_layout()
  if (order) l.rank_order = *order;
}

std::vector<PlanChange> usual_changes(const workload::LayoutSpec& base) {
  std::vector<PlanChange> out;
  const auto open = [&](std::initializer_list<const char*> keys) {
    return std::none_of(keys.begin(), keys.end(), [&](const char* key) { return base.places.contains(key); });
  };
  // Source of the share: published pairs of runs with and without it, catalog/frameworks/megatron-bridge.yaml.
  constexpr double kOverlapped = 0.9;
  if (open({"expert_exchange", "overlap_tp", "fused_experts"}))
    for (const double overlap : {0.0, kOverlapped})
      for (const bool fused : {false, true})
        for (const auto exchange : {workload::ExpertExchange::kAllToAll, workload::ExpertExchange::kPerNode})
          out.push_back({.experts = PlanExperts{exchange, overlap, fused}});
  if (open({"first_layers", "last_layers", "balanced_layers", "embedding_as_layer", "head_as_layer", "chunk_layers"})) {
    workload::StageSplit by_cost, with_ends;
    by_cost.balanced = true;
    with_ends.embedding_as_layer = with_ends.head_as_layer = true;
    out.push_back({.split = by_cost});
    out.push_back({.split = with_ends});
  }
  if (open({"rank_order"})) out.push_back({.order = workload::kTpCpPpDp});
  return out;
}

workload::LayoutSpec layout_of(const PlanSpace& space, const PlanPoint& p, std::uint32_t zero) {
  workload::LayoutSpec l = space.base;
  l.tp = p.tp;
  l.pp = p.pp;
  l.vpp = p.vpp;
  l.dp = p.dp;
  l.cp = p.cp;
  l.ep = p.ep;
  l.batch.micro = p.micro_batch;
  l.recomputation.kind = p.recompute.kind;
  if (l.recomputation.kind == workload::Recompute::kSelective)
    l.recomputation.modules = modules_of(space, p.recompute);
  else
    l.places.erase("recompute_modules");
  l.schedule = p.schedule;
  l.rank_order = p.order;
  l.sharding.zero = zero;
  if (l.goes_back()) l.places.try_emplace("vpp");
  return l;
}

}  // namespace busbar::plan
