#include "busbar/cli/explore_layouts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <set>

namespace busbar::cli {
namespace {

using workload::LayoutSpec;

/// One key of a layout: how to read and write it, and how far apart two of its values are.
struct LayoutKey {
  const char* key;
  double weight;  ///< of a factor of two, or of one step; the larger, the longer a value is kept
  bool factor;    ///< compared by factors, not by steps
  std::uint32_t (*get)(const LayoutSpec&);
  void (*set)(LayoutSpec&, std::uint32_t);
};

// The batch is the job, and hardly changes; memory is saved by recomputation and ZeRO before degrees change much.
// clang-format off
constexpr LayoutKey kLayoutKeys[] = {
    {"tp", 1.0, true, [](const LayoutSpec& l) { return l.tp; }, [](LayoutSpec& l, std::uint32_t v) { l.tp = v; }},
    {"pp", 1.0, true, [](const LayoutSpec& l) { return l.pp; }, [](LayoutSpec& l, std::uint32_t v) { l.pp = v; }},
    {"cp", 1.5, true, [](const LayoutSpec& l) { return l.cp; }, [](LayoutSpec& l, std::uint32_t v) { l.cp = v; }},
    {"ep", 0.8, true, [](const LayoutSpec& l) { return l.ep; }, [](LayoutSpec& l, std::uint32_t v) { l.ep = v; }},
    {"vpp", 0.3, true, [](const LayoutSpec& l) { return l.vpp; }, [](LayoutSpec& l, std::uint32_t v) { l.vpp = v; }},
    {"micro_batch", 0.5, true, [](const LayoutSpec& l) { return l.batch.micro; },
     [](LayoutSpec& l, std::uint32_t v) { l.batch.micro = v; }},
    {"zero", 0.6, false, [](const LayoutSpec& l) { return l.sharding.zero; },
     [](LayoutSpec& l, std::uint32_t v) { l.sharding.zero = v; }},
    {"recompute", 0.7, false, [](const LayoutSpec& l) { return static_cast<std::uint32_t>(l.recomputation.kind); },
     [](LayoutSpec& l, std::uint32_t v) { l.recomputation.kind = static_cast<workload::Recompute>(v); }},
    {"global_batch", 8.0, true, [](const LayoutSpec& l) { return l.batch.global; },
     [](LayoutSpec& l, std::uint32_t v) { l.batch.global = v; }},
    {"seq", 20.0, true, [](const LayoutSpec& l) { return l.batch.seq; },
     [](LayoutSpec& l, std::uint32_t v) { l.batch.seq = v; }},
};
// clang-format on
constexpr std::size_t kInner = 4;           // kLayoutKeys from here on are not degrees that multiply to the GPUs
constexpr std::size_t kMostTried = 10'000;  // layouts of one search
constexpr std::size_t kMostNear = 4;        // values of a key below the degrees
constexpr std::uint32_t kMostSequences = 65536, kMostTokens = 1u << 20;

std::vector<std::uint32_t> divisors(std::uint32_t n, std::uint32_t most) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t d = 1; d <= std::min(n, most); ++d)
    if (n % d == 0) out.push_back(d);
  return out;
}

/// 1, 2, 3, 4, 6, 8, 12, ... times `unit`.
std::vector<std::uint32_t> round_multiples(std::uint32_t unit, std::uint32_t most) {
  std::set<std::uint32_t> out;
  for (std::uint64_t n = unit; n > 0 && n <= most; n *= 2) {
    out.insert(static_cast<std::uint32_t>(n));
    if (3 * n <= most) out.insert(static_cast<std::uint32_t>(3 * n));
  }
  return {out.begin(), out.end()};
}

/// Values of a key that some layout may have.
std::vector<std::uint32_t> values_of(const std::string& key, const LayoutRoom& room, const LayoutSpec& l) {
  constexpr std::uint32_t kMostDegree = 64, kMostChunks = 16, kMostMicro = 32;
  if (key == "tp") return divisors(room.gpus, std::min(kMostDegree, std::max(room.domain, l.tp)));
  if (key == "pp") return divisors(room.gpus, std::min(kMostDegree, room.model.layers));
  if (key == "cp") return divisors(room.gpus, kMostDegree);
  if (key == "ep") return room.model.moe.experts > 0 ? divisors(room.model.moe.experts, 1024) : std::vector{1u};
  if (key == "vpp") return divisors(std::max(1u, room.model.layers / std::max(1u, l.pp)), kMostChunks);
  if (key == "micro_batch") return round_multiples(1, kMostMicro);
  if (key == "zero") return {0, 1, 2, 3};
  if (key == "recompute") return {0, 1, 2};
  if (key == "seq") return round_multiples(1024, kMostTokens);
  const std::uint32_t replica = std::max(1u, l.tp * l.pp * l.cp);
  return round_multiples(std::max(1u, room.gpus / replica) * std::max(1u, l.batch.micro), kMostSequences);
}

double distance(const LayoutKey& k, const LayoutSpec& from, std::uint32_t to, const std::string& kept) {
  constexpr double kMovedWeight = 100;
  const double a = std::max(1u, k.get(from)), b = std::max(1u, to);
  const double steps = k.factor ? std::abs(std::log2(a / b)) : std::abs(double(k.get(from)) - double(to));
  return steps * k.weight * (kept == k.key ? kMovedWeight : 1);
}

/// Changes of one key, the nearest value first.
struct NearValue {
  std::uint32_t value;
  double far;
};

std::vector<NearValue> near_values(const LayoutKey& k, const LayoutRoom& room, const LayoutSpec& at,
                                   const LayoutSpec& asked, const std::string& kept) {
  std::vector<NearValue> out;
  bool own = false;
  for (const std::uint32_t v : values_of(k.key, room, at)) {
    out.push_back({v, distance(k, asked, v, kept)});
    own = own || v == k.get(asked);
  }
  if (!own) out.push_back({k.get(asked), 0});
  std::stable_sort(out.begin(), out.end(), [](const NearValue& a, const NearValue& b) { return a.far < b.far; });
  return out;
}

/// Looks for the nearest layout, degrees first and then what remains.
class NearestLayout {
 public:
  NearestLayout(const LayoutRoom& room, const LayoutSpec& asked, bool fitting, const std::string& kept)
      : room_(room), asked_(asked), fitting_(fitting), kept_(kept) {}

  std::optional<LayoutSpec> find() {
    struct Degrees {
      LayoutSpec layout;
      double far;
    };
    std::vector<Degrees> all{{asked_, 0}};
    for (std::size_t k = 0; k < kInner; ++k) kLayoutKeys[k].set(all.front().layout, 1);
    for (std::size_t k = 0; k < kInner; ++k) {
      std::vector<Degrees> more;
      for (const Degrees& d : all)
        for (const NearValue& v : near_values(kLayoutKeys[k], room_, d.layout, asked_, kept_)) {
          more.push_back({d.layout, d.far + v.far});
          kLayoutKeys[k].set(more.back().layout, v.value);
          const LayoutSpec& l = more.back().layout;
          if (std::uint64_t{l.tp} * l.pp * l.cp > room_.gpus || room_.gpus % (l.tp * l.pp * l.cp) != 0) more.pop_back();
        }
      all = std::move(more);
      std::stable_sort(all.begin(), all.end(), [](const Degrees& a, const Degrees& b) { return a.far < b.far; });
      constexpr std::size_t kMostDegrees = 1500;
      if (all.size() > kMostDegrees) all.resize(kMostDegrees);
    }
    for (const Degrees& d : all)
      if (d.far < best_far_ && degrees_can_run(d.layout)) look(d.layout, kInner, d.far);
    return best_;
  }

 private:
  /// Whether anything can run with these degrees: one chunk a stage, and a batch that divides.
  bool degrees_can_run(LayoutSpec l) const {
    l.vpp =
        l.schedule == workload::PipelineSchedule::kZbV || l.schedule == workload::PipelineSchedule::kDualPipeV ? 2 : 1;
    l.batch.micro = 1;
    l.batch.global = room_.gpus / (l.tp * l.pp * l.cp) * l.pp * 4;
    return can_run(room_, l);
  }

  /// `at`: with the keys before `k` chosen, which are `far` from what was asked.
  void look(const LayoutSpec& at, std::size_t k, double far) {
    if (far >= best_far_ || tried_ >= kMostTried) return;
    if (k == std::size(kLayoutKeys)) {
      ++tried_;
      if (!(fitting_ ? fits(room_, at) : can_run(room_, at))) return;
      best_ = at;
      best_far_ = far;
      return;
    }
    std::vector<NearValue> near = near_values(kLayoutKeys[k], room_, at, asked_, kept_);
    if (near.size() > kMostNear) near.resize(kMostNear);
    for (const NearValue& v : near) {
      if (far + v.far >= best_far_) return;
      LayoutSpec next = at;
      kLayoutKeys[k].set(next, v.value);
      look(next, k + 1, far + v.far);
    }
  }

  const LayoutRoom& room_;
  const LayoutSpec& asked_;
  const bool fitting_;
  const std::string& kept_;
  std::optional<LayoutSpec> best_;
  double best_far_ = std::numeric_limits<double>::max();
  std::size_t tried_ = 0;
};

}  // namespace

LayoutValues layout_values(const LayoutSpec& layout) {
  LayoutValues out;
  for (const LayoutKey& k : kLayoutKeys) out[k.key] = std::to_string(k.get(layout));
  out["recompute"] = workload::name_of(layout.recomputation.kind);
  return out;
}

bool can_run(const LayoutRoom& room, const LayoutSpec& layout) {
  return workload::resolve_layout(layout, room.model, room.gpus).ok();
}

bool fits(const LayoutRoom& room, const LayoutSpec& layout) {
  const Result<LayoutSpec> l = workload::resolve_layout(layout, room.model, room.gpus);
  return l.ok() && workload::check_fits(workload::memory_use(room.model, *l), room.capacity).ok();
}

std::map<std::string, std::vector<std::uint32_t>> legal_stops(const LayoutRoom& room, const LayoutSpec& layout) {
  std::map<std::string, std::vector<std::uint32_t>> out;
  for (const LayoutKey& k : kLayoutKeys) {
    std::set<std::uint32_t> legal{k.get(layout)};
    for (const std::uint32_t v : values_of(k.key, room, layout)) {
      LayoutSpec l = layout;
      k.set(l, v);
      if (can_run(room, l)) legal.insert(v);
    }
    out[k.key] = {legal.begin(), legal.end()};
  }
  return out;
}

LayoutSpec nearest_layout(const LayoutRoom& room, const LayoutSpec& asked, bool fitting, const std::string& kept) {
  if (fitting ? fits(room, asked) : can_run(room, asked)) return asked;
  if (fitting)
    if (std::optional<LayoutSpec> found = NearestLayout(room, asked, true, kept).find()) return *found;
  if (can_run(room, asked)) return asked;
  return NearestLayout(room, asked, false, kept).find().value_or(asked);
}

}  // namespace busbar::cli
