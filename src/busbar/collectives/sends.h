// The sends of the stepwise patterns: one description that moves, edges and chain all read.
//
// A send is "member src sends `pieces` pieces to member dst in this round". Which pieces these are, and between which
// buffers they go, is computed (pieces.h) only for moves. Positions number the members of a group; the group's reducer
// has position n.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "busbar/collectives/schedule.h"

namespace busbar::collectives {

struct Send {
  std::uint32_t src = 0;  ///< position; n is the reducer
  std::uint32_t dst = 0;
  std::uint32_t pieces = 1;
  bool second = false;  ///< dst adds it to the data of another send of this round
};

/// The state of recursive halving: at `level` the member belongs to [lo, lo + size). The first `low` members keep the
/// lower pieces, the others the upper pieces. With an odd size the last lower member has no partner: it sends to the
/// last upper member and receives nothing.
struct Half {
  std::uint32_t lo = 0, size = 1, low = 1;
  bool received = false;  ///< at an earlier level
  std::uint32_t high() const { return size - low; }
};

constexpr Half half_at(std::uint32_t n, std::uint32_t level, std::uint32_t member) {
  Half h{0, n, (n + 1) / 2, false};
  for (; level > 0 && h.size > 1; --level) {
    const bool lower = member - h.lo < h.low;
    h.received = h.received || !lower || member - h.lo < h.high();
    h.lo += lower ? 0 : h.low;
    h.size = lower ? h.low : h.high();
    h.low = (h.size + 1) / 2;
  }
  return h;
}

/// ceil(log2 n).
constexpr std::uint32_t log2_ceil(std::uint32_t n) { return n <= 1 ? 0 : std::bit_width(n - 1); }

/// Rounds of a stepwise phase over groups of n members.
constexpr std::uint32_t stepwise_rounds(Pattern pattern, std::uint32_t n) {
  switch (pattern) {
    case Pattern::kPairwiseAllToAll:
      return n - 1;
    case Pattern::kHalvingReduceScatter:
    case Pattern::kDoublingAllGather:
    case Pattern::kBruckAllGather:
    case Pattern::kPatAllGather:
    case Pattern::kPatReduceScatter:
    case Pattern::kBinomialScatter:
    case Pattern::kBinomialGather:
    case Pattern::kBruckAllToAll:
      return log2_ceil(n);
    default:
      return 1;
  }
}

/// Numbers below n with bit `d` (a power of two) set.
constexpr std::uint32_t with_bit(std::uint32_t n, std::uint32_t d) {
  const std::uint32_t rest = n % (2 * d);
  return n / (2 * d) * d + (rest > d ? rest - d : 0);
}

namespace sends_internal {

template <class F>
void halving(std::uint32_t n, std::uint32_t level, bool gather, F&& f) {
  const auto emit = [&](std::uint32_t from, std::uint32_t to, std::uint32_t pieces, bool second = false) {
    f(Send{from, to, pieces, second});
  };
  for (std::uint32_t m = 0; m < n; ++m) {
    const Half h = half_at(n, level, m);
    if (h.size <= 1) continue;
    const std::uint32_t i = m - h.lo, high = h.high(), last = h.lo + h.size - 1;
    const bool lower = i < h.low;
    if (lower && i < high) emit(m, m + h.low, gather ? h.low : high);
    if (lower && i == high && !gather) emit(m, last, high, true);
    if (!lower) emit(m, m - h.low, gather ? high : h.low);
    if (!lower && m == last && gather && h.low > high) emit(m, h.lo + h.low - 1, high);
  }
}

/// In the shifting patterns all members send the same set of pieces.
template <class F>
void shift(std::uint32_t n, std::uint32_t by, std::uint32_t pieces, F&& f) {
  for (std::uint32_t m = 0; m < n; ++m) f(Send{m, m + by < n ? m + by : m + by - n, pieces});
}

/// Distances v from the root; edges v -> v + d for each multiple v of 2 d.
template <class F>
void binomial(std::uint32_t n, std::uint32_t root, std::uint32_t d, bool gather, F&& f) {
  const auto at = [&](std::uint32_t v) { return static_cast<std::uint32_t>((std::uint64_t{root} + v) % n); };
  for (std::uint64_t v = 0; v + d < n; v += 2 * std::uint64_t{d}) {
    const std::uint32_t near = at(static_cast<std::uint32_t>(v)), far = at(static_cast<std::uint32_t>(v + d));
    const std::uint32_t pieces = static_cast<std::uint32_t>(std::min<std::uint64_t>(d, n - v - d));
    f(Send{gather ? far : near, gather ? near : far, pieces});
  }
}

}  // namespace sends_internal

/// Calls f(Send) for all sends of one round of a group of n members. A pair of members occurs at most once per phase.
/// Cost: O(sends); for halving a further factor log2 n.
template <class F>
void for_each_send(const Phase& phase, std::uint32_t n, std::uint32_t round, F&& f) {
  using namespace sends_internal;
  const std::uint32_t steps = stepwise_rounds(phase.pattern, n);
  const std::uint32_t near = 1u << round % 32,
                      far = 1u << (steps - 1 - round) % 32;  // for patterns with log2 n rounds
  switch (phase.pattern) {
    case Pattern::kHalvingReduceScatter:
      return halving(n, round, false, f);
    case Pattern::kDoublingAllGather:
      return halving(n, steps - 1 - round, true, f);
    case Pattern::kBruckAllGather:
      return shift(n, n - near, std::min(near, n - near), f);
    case Pattern::kPatAllGather:
      return shift(n, far, (n - far + 2 * far - 1) / (2 * far), f);
    case Pattern::kPatReduceScatter:
      return shift(n, n - near, (n - near + 2 * near - 1) / (2 * near), f);
    case Pattern::kBinomialScatter:
      return binomial(n, phase.root, far, false, f);
    case Pattern::kBinomialGather:
      return binomial(n, phase.root, near, true, f);
    case Pattern::kBruckAllToAll:
      return shift(n, near, with_bit(n, near), f);
    case Pattern::kPairwiseAllToAll:
      return shift(n, round + 1, 1, f);
    case Pattern::kDirectReduceScatter:
    case Pattern::kDirectAllGather:
    case Pattern::kDirectAllToAll:
    case Pattern::kDirectAllReduce:
      for (std::uint32_t by = 1; by < n; ++by)
        shift(n, by, 1, [&](Send s) {
          s.second = by > 1 && adds_at_ranks(phase.pattern);
          f(s);
        });
      return;
    case Pattern::kHubUp:
      return f(Send{phase.root, n});
    case Pattern::kHubDown:
      return f(Send{n, phase.root});
    default:
      break;
  }
  if (phase.pattern == Pattern::kDirectShift) return shift(n, 1, 1, f);
  for (std::uint32_t m = 0; m < n; ++m) {
    const bool root = m == phase.root;
    if (phase.pattern == Pattern::kDirectGather && !root) f(Send{m, phase.root});
    if (phase.pattern == Pattern::kDirectScatter && !root) f(Send{phase.root, m});
    if (phase.pattern == Pattern::kHubReduce) f(Send{m, n, 1, m > 0});
    if (phase.pattern == Pattern::kHubGather) f(Send{m, n});
    if (phase.pattern == Pattern::kHubScatter) f(Send{n, m});
    if (phase.pattern == Pattern::kHubMulticast && !(root && phase.at_root)) f(Send{n, m});
  }
}

/// Number of chunks in all pieces of a send. `positions`: the group's members in the order of the family.
inline std::uint64_t chunks_of(const Schedule& schedule, const Phase& phase, std::uint32_t n, const Send& send) {
  const bool pairs = phase.pattern == Pattern::kDirectAllToAll || phase.pattern == Pattern::kPairwiseAllToAll;
  if (!pairs || schedule.pairs.equal()) return std::uint64_t{send.pieces} * phase.span;
  const GroupFamily& family = schedule.families[phase.family];
  return schedule.pairs.count(n, family.member_at(send.src), family.member_at(send.dst)) * std::uint64_t{phase.span};
}

/// The actor at a position: a member, or the reducer of the group.
inline std::uint32_t actor_of(const Phase& phase, const GroupFamily& family, std::uint32_t n, std::uint32_t group,
                              std::uint32_t position) {
  return position == n ? phase.hub + group : family.actor(group, family.member_at(position));
}

/// For an all-to-all with equal shares: chunks that every ordered pair of members exchanges, so that engines need not
/// list n n pairs. 0 for every other phase.
inline std::uint64_t chunks_per_pair(const Schedule& schedule, const Phase& phase) {
  switch (phase.pattern) {
    case Pattern::kDirectReduceScatter:
    case Pattern::kDirectAllGather:
    case Pattern::kDirectAllReduce:
      return phase.span;
    case Pattern::kDirectAllToAll:
    case Pattern::kPairwiseAllToAll:
      return schedule.pairs.equal() ? phase.span : 0;
    default:
      return 0;
  }
}

}  // namespace busbar::collectives
