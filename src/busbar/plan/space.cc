#include "busbar/plan/space.h"

#include <algorithm>

namespace busbar {
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
std::vector<ParallelAxis> axes_of(const PlanPoint& p, const RankOrder& o) {
  std::vector<ParallelAxis> out;
  for (const ParallelAxis a : o) {
    const std::uint32_t n = a == ParallelAxis::kTp   ? p.tp
                            : a == ParallelAxis::kCp ? p.cp
                            : a == ParallelAxis::kDp ? p.dp
                                                     : p.pp;
    if (n > 1) out.push_back(a);
  }
  return out;
}

/// Whether selective recomputation frees memory. Fused attention keeps no scores.
bool saves(const LayoutSpec& base) {
  const RecomputeModules& m = base.modules;
  return m.act || m.layernorm || m.mla_up_proj || (m.core_attn && base.attention == AttentionKernel::kUnfused);
}

class Points {
 public:
  Points(const PlanSpace& space, const ModelSpec& model)
      : space_(space),
        model_(model),
        orders_(space.order.empty() ? std::vector<RankOrder>{space.base.rank_order} : space.order),
        selective_saves_(saves(space.base) || std::find(space.recompute.begin(), space.recompute.end(),
                                                        Recompute::kNone) == space.recompute.end()) {}

  void add_degrees(std::uint32_t gpus) {
    for (const std::uint32_t pp : divisors(gpus, space_.pp))
      for (const std::uint32_t cp : divisors(gpus / pp, space_.cp))
        for (const std::uint32_t tp : divisors(gpus / pp / cp, space_.tp)) {
          PlanPoint p{.tp = tp, .pp = pp, .dp = gpus / pp / cp / tp, .cp = cp};
          if (pp > model_.layers + 2 || model_.heads % tp != 0 || !allows(space_.dp, p.dp)) continue;
          if (space_.base.global_batch % p.dp == 0) add_orders(p);
        }
  }
  std::vector<PlanPoint> out;

 private:
  void add_orders(PlanPoint p) {
    std::vector<std::vector<ParallelAxis>> met;
    for (const RankOrder& o : orders_) {
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
    const std::uint32_t sequences = space_.base.global_batch / p.dp;
    for (const std::uint32_t b : divisors(sequences, space_.micro_batch)) {
      p.micro_batch = b;
      for (const PipelineSchedule s : space_.schedule) {
        p.schedule = order_.schedule = s;
        add_chunks(p, sequences / b);
      }
    }
  }
  void add_chunks(PlanPoint p, std::uint32_t micro_batches) {
    const bool one = p.pp == 1, v = order_.goes_back();
    if (one && p.schedule != PipelineSchedule::k1F1B) return;
    if (v && micro_batches < (p.schedule == PipelineSchedule::kDualPipeV ? 2 * p.pp : p.pp)) return;
    const bool interleaves = !one && p.schedule == PipelineSchedule::k1F1B && micro_batches % p.pp == 0;
    const std::uint32_t first = v ? 2 : 1, last = v ? 2 : interleaves ? (model_.layers + 2) / p.pp : 1;
    for (std::uint32_t vpp = first; vpp <= last; ++vpp) {
      if (!allows(space_.vpp, vpp)) continue;
      p.vpp = vpp;
      for (const Recompute r : space_.recompute) {
        if (r == Recompute::kSelective && !selective_saves_) continue;
        p.recompute = r;
        out.push_back(p);
      }
    }
  }

  const PlanSpace& space_;
  const ModelSpec& model_;
  const std::vector<RankOrder> orders_;
  const bool selective_saves_;  ///< or it is asked for without none at all
  LayoutSpec order_;            ///< only its schedule
};

}  // namespace

std::vector<PlanPoint> points_of(const PlanSpace& space, const ModelSpec& model, std::uint32_t gpus) {
  Points points(space, model);
  points.add_degrees(gpus);
  return std::move(points.out);
}

std::span<const std::uint32_t> zero_of(const PlanSpace& space, const ModelSpec& model, const PlanPoint& p) {
  const LayoutSpec& base = space.base;
  const bool free = base.secondary_shards == 0 && !base.whole_tensors && !base.accumulate_gradients;  // of one degree
  const std::uint32_t tensor = base.expert_tp > 0 ? base.expert_tp : p.ep > 1 ? 1 : p.tp;
  const bool shared = p.dp * p.cp > 1 || (model.moe.experts > 0 && p.tp > p.ep * tensor);
  return std::span(space.zero).first(free && !shared ? std::min<std::size_t>(1, space.zero.size()) : space.zero.size());
}

LayoutSpec layout_of(const PlanSpace& space, const PlanPoint& p, std::uint32_t zero) {
  LayoutSpec l = space.base;
  l.tp = p.tp;
  l.pp = p.pp;
  l.vpp = p.vpp;
  l.dp = p.dp;
  l.cp = p.cp;
  l.ep = p.ep;
  l.micro_batch = p.micro_batch;
  l.recompute = p.recompute;
  l.schedule = p.schedule;
  l.rank_order = p.order;
  l.zero = zero;
  if (l.goes_back()) l.places.try_emplace("vpp");
  return l;
}

}  // namespace busbar
