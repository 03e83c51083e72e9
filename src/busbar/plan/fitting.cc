#include "busbar/plan/fitting.h"

#include <algorithm>
#include <optional>

namespace busbar::plan {
namespace {

constexpr std::size_t kFitKeys = 9;
constexpr std::size_t kMostDegrees = 4;  ///< larger values of one degree that are tried

/// The layout with each larger degree that divides `whole`, the nearest first. What is left is data parallel.
void add_degrees(const workload::LayoutSpec& from, std::uint32_t workload::LayoutSpec::*degree, std::uint32_t whole,
                 std::uint32_t most, std::vector<workload::LayoutSpec>& out) {
  for (std::uint32_t n = 2 * (from.*degree); n <= most && n <= whole && out.size() < kMostDegrees; n += from.*degree) {
    if (whole % n != 0) continue;
    workload::LayoutSpec l = from;
    l.*degree = n;
    l.dp = 0;
    out.push_back(std::move(l));
  }
}

void add_recompute(const workload::LayoutSpec& from, std::vector<workload::LayoutSpec>& out) {
  for (const workload::Recompute r : {workload::Recompute::kSelective, workload::Recompute::kFull}) {
    if (r <= from.recomputation.kind) continue;
    workload::LayoutSpec l = from;
    l.recomputation.kind = r;
    out.push_back(std::move(l));
  }
}

void add_zero(const workload::LayoutSpec& from, std::vector<workload::LayoutSpec>& out) {
  for (std::uint32_t zero = from.sharding.zero + 1; zero <= 3; ++zero) {
    workload::LayoutSpec l = from;
    l.sharding.zero = zero;
    out.push_back(std::move(l));
  }
}

void add_switched_on(const workload::LayoutSpec& from, bool workload::Offload::*key,
                     std::vector<workload::LayoutSpec>& out) {
  if (from.offload.*key) return;
  workload::LayoutSpec l = from;
  l.offload.*key = true;
  out.push_back(std::move(l));
}

void add_micro_batch(const workload::LayoutSpec& from, std::vector<workload::LayoutSpec>& out) {
  for (std::uint32_t n = from.batch.micro; n % 2 == 0;) {
    workload::LayoutSpec l = from;
    l.batch.micro = n /= 2;
    out.push_back(std::move(l));
  }
}

/// `from` with each other value of `key` that needs less memory, the nearest first.
std::vector<workload::LayoutSpec> values_of(FitKey key, const workload::LayoutSpec& from,
                                            const workload::ModelSpec& model, const FitAsk& ask) {
  std::vector<workload::LayoutSpec> out;
  switch (key) {
    case FitKey::kRecompute:
      add_recompute(from, out);
      break;
    case FitKey::kZero:
      add_zero(from, out);
      break;
    case FitKey::kOffloadStates:
      add_switched_on(from, &workload::Offload::optimizer, out);
      break;
    case FitKey::kOffloadActivations:
      add_switched_on(from, &workload::Offload::activations, out);
      break;
    case FitKey::kMicroBatch:
      add_micro_batch(from, out);
      break;
    case FitKey::kTp:
      add_degrees(from, &workload::LayoutSpec::tp, ask.gpus, ask.domain, out);
      break;
    case FitKey::kPp:
      add_degrees(from, &workload::LayoutSpec::pp, ask.gpus, model.layers, out);
      break;
    case FitKey::kCp:
      add_degrees(from, &workload::LayoutSpec::cp, ask.gpus, ask.gpus, out);
      break;
    case FitKey::kEp:
      add_degrees(from, &workload::LayoutSpec::ep, model.moe.experts, model.moe.experts, out);
      break;
  }
  return out;
}

/// The nearest layout that fits with the keys from `next` on changed as well.
std::optional<FittingLayout> nearest(const workload::LayoutSpec& from, const workload::ModelSpec& model,
                                     const FitAsk& ask, const std::vector<FitKey>& keys, std::size_t next = 0) {
  if (next < keys.size()) {
    for (const workload::LayoutSpec& l : values_of(keys[next], from, model, ask))
      if (auto found = nearest(l, model, ask, keys, next + 1)) return found;
    return {};
  }
  Result<workload::LayoutSpec> layout = workload::resolve_layout(from, model, ask.gpus);
  if (!layout.ok()) return {};
  const workload::MemoryUse memory = workload::memory_use(model, *layout);
  if (!workload::check_fits(memory, ask.capacity).ok()) return {};
  return FittingLayout{keys, std::move(*layout), memory, {}};
}

bool contains_one_of(const std::vector<FitKey>& keys, const std::vector<FittingLayout>& known) {
  return std::any_of(known.begin(), known.end(), [&](const FittingLayout& f) {
    return std::includes(keys.begin(), keys.end(), f.keys.begin(), f.keys.end());
  });
}

/// Every set of `count` keys, in the order of FitKey.
std::vector<std::vector<FitKey>> key_sets(std::size_t count) {
  std::vector<std::vector<FitKey>> out;
  std::vector<bool> chosen(kFitKeys, false);
  std::fill_n(chosen.begin(), count, true);
  do {
    out.emplace_back();
    for (std::size_t i = 0; i < kFitKeys; ++i)
      if (chosen[i]) out.back().push_back(static_cast<FitKey>(i));
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return out;
}

bool faster(const FittingLayout& a, const FittingLayout& b) { return a.step < b.step; }

/// The `wanted` fastest of layouts with as many keys changed. `most`: how many more may be timed.
std::vector<FittingLayout> fastest(std::vector<FittingLayout> all, std::size_t wanted, const FitTimes& times,
                                   std::size_t& most) {
  std::vector<std::pair<Duration, std::size_t>> order;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (const Result<Duration> bound = times.bound(all[i].layout); bound.ok()) order.emplace_back(*bound, i);
  std::sort(order.begin(), order.end());
  std::vector<FittingLayout> out;
  for (const auto& [bound, i] : order) {
    if (most == 0 || (out.size() >= wanted && out[wanted - 1].step <= bound)) break;
    --most;
    const Result<Duration> step = times.time(all[i].layout);
    if (!step.ok()) continue;
    all[i].step = *step;
    out.insert(std::upper_bound(out.begin(), out.end(), all[i], faster), all[i]);
  }
  out.resize(std::min(wanted, out.size()));
  return out;
}

}  // namespace

std::vector<FittingLayout> fitting_layouts(const workload::ModelSpec& model, const FitAsk& ask, std::size_t changed,
                                           const std::vector<FittingLayout>& known) {
  std::vector<FittingLayout> out;
  for (const std::vector<FitKey>& keys : key_sets(changed)) {
    if (contains_one_of(keys, known)) continue;
    if (auto found = nearest(ask.layout, model, ask, keys)) out.push_back(std::move(*found));
  }
  return out;
}

std::vector<FittingLayout> smallest_fits(const workload::ModelSpec& model, const FitAsk& ask, const FitTimes& times) {
  std::vector<FittingLayout> known, out;
  std::size_t most = times.most;
  for (std::size_t changed = times.least_keys; changed <= times.most_keys && out.size() < times.wanted; ++changed) {
    std::vector<FittingLayout> level = fitting_layouts(model, ask, changed, known);
    known.insert(known.end(), level.begin(), level.end());
    for (FittingLayout& f : fastest(std::move(level), times.wanted - out.size(), times, most))
      out.push_back(std::move(f));
  }
  return out;
}

}  // namespace busbar::plan
