#include "busbar/collectives/pieces.h"

namespace busbar::collectives {
namespace {

std::uint32_t around(std::uint32_t n, std::uint64_t position) { return static_cast<std::uint32_t>(position % n); }

Piece halving(const Phase& ph, std::uint32_t n, std::uint32_t level, const Send& s, std::uint32_t i) {
  const Half h = half_at(n, level, s.src), theirs = half_at(n, level, s.dst);
  const bool lower = s.dst - h.lo < h.low;
  const bool last = (lower ? h.low : h.high()) == 1;
  const Buffer to = last ? ph.result : ph.work;
  const Buffer operand = s.second ? to : theirs.received ? ph.work : ph.source;
  return {(lower ? h.lo : h.lo + h.low) + i, h.received ? ph.work : ph.source, to, true, operand};
}

Piece doubling(const Phase& ph, std::uint32_t n, std::uint32_t level, const Send& s, std::uint32_t i) {
  const Half h = half_at(n, level, s.src);
  const std::uint32_t number = (s.src - h.lo < h.low ? h.lo : h.lo + h.low) + i;
  return {number, number == s.src ? ph.source : ph.work, ph.work, false, {}};
}

/// Piece p reaches, or leaves, the member at distance o around the ring through the set bits of o, highest first.
Piece pat(const Phase& ph, std::uint32_t n, std::uint32_t d, const Send& s, std::uint32_t i) {
  const std::uint64_t steps = std::uint64_t{2} * d * i;
  if (ph.pattern == Pattern::kPatAllGather)
    return {around(n, s.src + std::uint64_t{n} - steps), i == 0 ? ph.source : ph.work, ph.work, false, {}};
  const bool leaf = d == 1 || steps + d + 1 >= n;
  const bool last = steps == 0 && 2 * std::uint64_t{d} >= n;
  return {around(n, s.dst + std::uint64_t{n} - steps), leaf ? ph.source : ph.work, last ? ph.result : ph.work, true,
          d == 1 ? ph.source : ph.work};
}

Piece binomial(const Phase& ph, std::uint32_t n, const Send& s, std::uint32_t i) {
  if (ph.pattern == Pattern::kBinomialScatter)
    return {around(n, std::uint64_t{s.dst} + i),
            s.src == ph.root ? ph.source : ph.work,
            i == 0 ? ph.result : ph.work,
            false,
            {}};
  return {around(n, std::uint64_t{s.src} + i),
          i == 0 ? ph.source : ph.work,
          s.dst == ph.root ? ph.result : ph.work,
          false,
          {}};
}

/// The i-th number with bit d set is the total distance of its piece; the piece has already gone the lower bits.
Piece bruck_all_to_all(const Phase& ph, std::uint32_t n, std::uint32_t d, const Send& s, std::uint32_t i) {
  const std::uint32_t gone = i % d, total = i / d * 2 * d + d + gone;
  const std::uint32_t origin = around(n, s.src + std::uint64_t{n} - gone);
  return {origin * n + around(n, std::uint64_t{origin} + total),
          gone == 0 ? ph.source : ph.work,
          total < 2 * d ? ph.result : ph.work,
          false,
          {}};
}

Piece hub(const Phase& ph, std::uint32_t n, const Send& s) {
  const std::uint32_t member = s.src == n ? s.dst : s.src;
  const bool own = ph.pattern == Pattern::kHubGather || ph.pattern == Pattern::kHubScatter;
  const bool up = s.dst == n;
  return {own ? member : 0, up ? ph.source : Buffer::kScratch, up ? Buffer::kScratch : ph.result, up && s.second,
          Buffer::kScratch};
}

}  // namespace

Piece piece_of(const Phase& ph, std::uint32_t n, std::uint32_t round, const Send& s, std::uint32_t i) {
  const std::uint32_t steps = stepwise_rounds(ph.pattern, n);
  const std::uint32_t near = 1u << round % 32, far = 1u << (steps - 1 - round) % 32;
  switch (ph.pattern) {
    case Pattern::kHalvingReduceScatter:
      return halving(ph, n, round, s, i);
    case Pattern::kDoublingAllGather:
      return doubling(ph, n, steps - 1 - round, s, i);
    case Pattern::kBruckAllGather:
      return {around(n, std::uint64_t{s.src} + i), i == 0 ? ph.source : ph.work, ph.work, false, {}};
    case Pattern::kPatAllGather:
      return pat(ph, n, far, s, i);
    case Pattern::kPatReduceScatter:
      return pat(ph, n, near, s, i);
    case Pattern::kBinomialScatter:
    case Pattern::kBinomialGather:
      return binomial(ph, n, s, i);
    case Pattern::kBruckAllToAll:
      return bruck_all_to_all(ph, n, near, s, i);
    case Pattern::kPairwiseAllToAll:
    case Pattern::kDirectAllToAll:
      return {s.src * n + s.dst, ph.source, ph.result, false, {}};
    case Pattern::kDirectReduceScatter:
      return {s.dst, ph.source, ph.result, true, s.second ? ph.result : ph.source};
    case Pattern::kDirectAllReduce:
      return {0, ph.source, ph.result, true, s.second ? ph.result : ph.source};
    case Pattern::kDirectAllGather:
    case Pattern::kDirectShift:
    case Pattern::kDirectGather:
      return {s.src, ph.source, ph.result, false, {}};
    case Pattern::kDirectScatter:
      return {s.dst, ph.source, ph.result, false, {}};
    default:
      return hub(ph, n, s);
  }
}

}  // namespace busbar::collectives
