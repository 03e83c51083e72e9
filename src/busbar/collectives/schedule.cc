#include "busbar/collectives/schedule.h"

#include <algorithm>

#include "busbar/base/check.h"

namespace busbar::collectives {
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

namespace {

/// How the moves of a pattern are made.
enum class Made : std::uint8_t {
  kAlong,  ///< a ring, a chain or a tree, by code of its own
  kSends,  ///< by sends.h
  kHub,    ///< by sends.h, between the members and their hub
};
enum class Adds : std::uint8_t { kNo, kAtRanks };

struct PatternRow {
  Pattern pattern;
  const char* name;
  Made made;
  Coupling coupling;
  Adds adds;
};

constexpr PatternRow kPatterns[] = {
    {Pattern::kRingReduceScatter, "ring reduce-scatter", Made::kAlong, Coupling::kChain, Adds::kAtRanks},
    {Pattern::kRingAllGather, "ring all-gather", Made::kAlong, Coupling::kChain, Adds::kNo},
    {Pattern::kChainBroadcast, "chain broadcast", Made::kAlong, Coupling::kChain, Adds::kNo},
    {Pattern::kChainReduce, "chain reduce", Made::kAlong, Coupling::kChain, Adds::kAtRanks},
    {Pattern::kTreeReduce, "tree reduce", Made::kAlong, Coupling::kChain, Adds::kAtRanks},
    {Pattern::kTreeBroadcast, "tree broadcast", Made::kAlong, Coupling::kChain, Adds::kNo},
    {Pattern::kHalvingReduceScatter, "halving reduce-scatter", Made::kSends, Coupling::kChain, Adds::kAtRanks},
    {Pattern::kDoublingAllGather, "doubling all-gather", Made::kSends, Coupling::kChain, Adds::kNo},
    {Pattern::kBruckAllGather, "Bruck all-gather", Made::kSends, Coupling::kChain, Adds::kNo},
    {Pattern::kPatAllGather, "PAT all-gather", Made::kSends, Coupling::kChain, Adds::kNo},
    {Pattern::kPatReduceScatter, "PAT reduce-scatter", Made::kSends, Coupling::kChain, Adds::kAtRanks},
    {Pattern::kBinomialScatter, "binomial scatter", Made::kSends, Coupling::kChain, Adds::kNo},
    {Pattern::kBinomialGather, "binomial gather", Made::kSends, Coupling::kChain, Adds::kNo},
    {Pattern::kBruckAllToAll, "Bruck all-to-all", Made::kSends, Coupling::kChain, Adds::kNo},
    {Pattern::kPairwiseAllToAll, "pairwise all-to-all", Made::kSends, Coupling::kFree, Adds::kNo},
    {Pattern::kDirectReduceScatter, "direct reduce-scatter", Made::kSends, Coupling::kFree, Adds::kAtRanks},
    {Pattern::kDirectAllGather, "direct all-gather", Made::kSends, Coupling::kFree, Adds::kNo},
    {Pattern::kDirectAllToAll, "direct all-to-all", Made::kSends, Coupling::kFree, Adds::kNo},
    {Pattern::kDirectAllReduce, "one-shot all-reduce", Made::kSends, Coupling::kFree, Adds::kAtRanks},
    {Pattern::kDirectShift, "send to the next", Made::kSends, Coupling::kFree, Adds::kNo},
    {Pattern::kDirectGather, "direct gather", Made::kSends, Coupling::kFree, Adds::kNo},
    {Pattern::kDirectScatter, "direct scatter", Made::kSends, Coupling::kFree, Adds::kNo},
    {Pattern::kHubReduce, "in-network reduce", Made::kHub, Coupling::kChain, Adds::kNo},
    {Pattern::kHubMulticast, "in-network multicast", Made::kHub, Coupling::kChain, Adds::kNo},
    {Pattern::kHubGather, "in-network gather", Made::kHub, Coupling::kChain, Adds::kNo},
    {Pattern::kHubScatter, "in-network scatter", Made::kHub, Coupling::kChain, Adds::kNo},
    {Pattern::kHubUp, "send to the network", Made::kHub, Coupling::kChain, Adds::kNo},
    {Pattern::kHubDown, "take from the network", Made::kHub, Coupling::kChain, Adds::kNo},
};

/// Whether the rows stand in the order of the enumeration, one for each.
constexpr bool in_order() {
  std::size_t i = 0;
  for (const PatternRow& row : kPatterns)
    if (static_cast<std::size_t>(row.pattern) != i++) return false;
  return i == static_cast<std::size_t>(Pattern::kHubDown) + 1;
}
static_assert(in_order());

const PatternRow& row_of(Pattern p) { return kPatterns[static_cast<std::size_t>(p)]; }

}  // namespace

Coupling coupling_of(Pattern p) { return row_of(p).coupling; }
bool is_stepwise(Pattern p) { return row_of(p).made != Made::kAlong; }
bool uses_hub(Pattern p) { return row_of(p).made == Made::kHub; }
bool adds_at_ranks(Pattern p) { return row_of(p).adds == Adds::kAtRanks; }
const char* name_of(Pattern p) { return row_of(p).name; }

bool is_tree(Pattern p) { return p == Pattern::kTreeReduce || p == Pattern::kTreeBroadcast; }

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

}  // namespace busbar::collectives
