#include "busbar/collectives/schedule.h"

#include <algorithm>
#include <iterator>

#include "busbar/base/check.h"

namespace busbar {
namespace {

std::uint32_t extent_of(const std::vector<Axis>& axes) {
  std::uint32_t n = 1;
  for (const Axis& a : axes) n *= a.extent;
  return n;
}

/// Sum of digit x stride of the mixed-radix number `index`. The last axis takes the remainder, so one axis needs no
/// division.
std::uint32_t dot(const std::vector<Axis>& axes, std::uint32_t Axis::*stride, std::uint32_t index) {
  std::uint32_t sum = 0;
  const std::size_t n = axes.size();
  for (std::size_t i = 0; i < n; ++i) {
    const Axis& a = axes[i];
    if (i + 1 == n) return sum + index * (a.*stride);
    sum += (index % a.extent) * (a.*stride);
    index /= a.extent;
  }
  return sum;
}

}  // namespace

std::uint32_t GroupFamily::groups() const { return listed.empty() ? extent_of(outer) : listed_groups; }

std::uint32_t GroupFamily::size() const {
  if (listed.empty()) return extent_of(inner);
  BUSBAR_DCHECK(listed_groups > 0 && listed.size() % listed_groups == 0);
  return static_cast<std::uint32_t>(listed.size()) / listed_groups;
}

std::uint32_t GroupFamily::actor(std::uint32_t group, std::uint32_t member) const {
  if (!listed.empty()) return listed[static_cast<std::size_t>(group) * size() + member];
  return base + dot(outer, &Axis::actor_stride, group) + dot(inner, &Axis::actor_stride, member);
}

std::uint32_t GroupFamily::chunk_offset(std::uint32_t group) const { return dot(outer, &Axis::chunk_stride, group); }

GroupFamily one_group(std::uint32_t n) {
  GroupFamily f;
  f.inner = {Axis{.extent = n, .actor_stride = 1}};
  return f;
}

Coupling coupling_of(Pattern p) {
  const bool direct = p >= Pattern::kDirectReduceScatter && p <= Pattern::kDirectScatter;
  return direct || p == Pattern::kPairwiseAllToAll ? Coupling::kFree : Coupling::kChain;
}

bool is_stepwise(Pattern p) { return p >= Pattern::kHalvingReduceScatter; }

bool is_tree(Pattern p) { return p == Pattern::kTreeReduce || p == Pattern::kTreeBroadcast; }

bool uses_hub(Pattern p) { return p >= Pattern::kHubReduce; }

bool adds_at_ranks(Pattern p) {
  return p == Pattern::kRingReduceScatter || p == Pattern::kChainReduce || p == Pattern::kTreeReduce ||
         p == Pattern::kHalvingReduceScatter || p == Pattern::kPatReduceScatter || p == Pattern::kDirectReduceScatter;
}

const char* name_of(Pattern p) {
  static constexpr const char* kNames[] = {
      "ring reduce-scatter", "ring all-gather",     "chain broadcast",        "chain reduce",
      "tree reduce",         "tree broadcast",      "halving reduce-scatter", "doubling all-gather",
      "Bruck all-gather",    "PAT all-gather",      "PAT reduce-scatter",     "binomial scatter",
      "binomial gather",     "Bruck all-to-all",    "pairwise all-to-all",    "direct reduce-scatter",
      "direct all-gather",   "direct all-to-all",   "send to the next",       "direct gather",
      "direct scatter",      "in-network reduce",   "in-network multicast",   "in-network gather",
      "in-network scatter",  "send to the network", "take from the network"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Pattern::kHubDown) + 1);
  return kNames[static_cast<std::size_t>(p)];
}

std::uint32_t PairCounts::first(std::uint32_t n, std::uint32_t src, std::uint32_t dst) const {
  if (!begin.empty()) return begin[std::size_t{src} * n + dst];
  const std::uint32_t row = n + hot * (hot_chunks - 1);
  return src * row + dst + std::min(dst, hot) * (hot_chunks - 1);
}

std::uint32_t PairCounts::count(std::uint32_t n, std::uint32_t src, std::uint32_t dst) const {
  if (!begin.empty()) return begin[std::size_t{src} * n + dst + 1] - begin[std::size_t{src} * n + dst];
  return dst < hot ? hot_chunks : 1;
}

std::uint32_t Schedule::part_of(std::uint32_t chunk) const {
  if (!channel_layouts.empty())
    return dot(channel_layouts[std::uint64_t{chunk} * channels / chunks], &Axis::chunk_stride, chunk);
  return layout.empty() ? chunk : dot(layout, &Axis::chunk_stride, chunk);
}

}  // namespace busbar
