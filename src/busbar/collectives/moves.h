// The moves of a schedule, generated round by round, for the packet engine, a runtime and the verifier.
#pragma once

#include <cstdint>

#include "busbar/collectives/pieces.h"
#include "busbar/collectives/schedule.h"
#include "busbar/collectives/sends.h"
#include "busbar/collectives/tree_nodes.h"

namespace busbar::collectives {

/// `chunk_count` chunks, starting at `first_chunk`, go from a buffer of `src` to a buffer of `dst`.
struct Move {
  std::uint32_t src = 0;
  std::uint32_t dst = 0;
  std::uint32_t first_chunk = 0;
  std::uint32_t chunk_count = 0;
  Buffer src_buffer = Buffer::kInput;
  Buffer dst_buffer = Buffer::kOutput;
  bool reduce = false;              ///< dst_buffer becomes the arriving data plus `operand`; else the data
  Buffer operand = Buffer::kInput;  ///< of dst, for a reduction; may be dst_buffer itself
  bool operator==(const Move&) const = default;
};

/// Rounds of one phase: n-1 around a ring or along a chain, ceil(log2 n) in a tree, else stepwise_rounds (sends.h).
std::uint32_t rounds(const Schedule& schedule, const Phase& phase);

namespace moves_internal {

/// Positions p and pieces q count along the ring; a piece that arrives in one round is sent in the next.
template <class At, class F>
void ring_round(const Phase& ph, const GroupFamily& family, std::uint32_t n, std::uint32_t round, std::uint32_t base,
                At&& actor_at, F&& f) {
  const bool reduce = ph.pattern == Pattern::kRingReduceScatter;
  const std::uint32_t back = round + (reduce ? 1 : 0);  // the piece of position p starts at p + 1 (reduced) or p
  const Buffer src = round == 0 ? ph.source : ph.work;
  const Buffer dst = reduce && round + 2 == n ? ph.result : ph.work;
  for (std::uint32_t p = 0; p < n; ++p) {
    const std::uint32_t piece = family.member_at(p >= back ? p - back : p + n - back);
    f(Move{actor_at(p), actor_at(p + 1 < n ? p + 1 : 0), base + piece * ph.span, ph.span, src, dst, reduce, ph.source});
  }
}

template <class At, class F>
void chain_round(const Phase& ph, std::uint32_t n, std::uint32_t round, std::uint32_t base, At&& actor_at, F&& f) {
  const bool reduce = ph.pattern == Pattern::kChainReduce;
  const std::uint32_t from = (ph.root + round + (reduce ? 1 : 0)) % n;
  f(Move{actor_at(from), actor_at((from + 1) % n), base, ph.span, round == 0 ? ph.source : ph.work,
         reduce && round + 2 == n ? ph.result : ph.work, reduce, ph.source});
}

/// Round d of a broadcast fills depth d + 1; a reduction runs the same rounds backwards. The children of a node send in
/// one round: the lowest adds to the node's own data, the others add to that sum.
template <class At, class F>
void tree_round(const Schedule& s, const Phase& ph, std::uint32_t n, std::uint32_t round, std::uint32_t base,
                At&& actor_at, F&& f) {
  const bool reduce = ph.pattern == Pattern::kTreeReduce;
  const TreeNodes tree(s, ph, n);
  const std::uint32_t depth = reduce ? tree.height() - round : round + 1;
  const auto at_node = [&](std::uint32_t i) { return actor_at(tree.position(i)); };
  for (std::uint32_t i = 1; i < n; ++i) {
    if (tree.depth(i) != depth) continue;
    const std::uint32_t parent = tree.parent(i);
    const Buffer sum = parent == 0 ? ph.result : ph.work;
    if (reduce)
      f(Move{at_node(i), at_node(parent), base, ph.span, tree.is_leaf(i) ? ph.source : ph.work, sum, true,
             tree.is_first_child(i) ? ph.source : sum});
    else
      f(Move{at_node(parent), at_node(i), base, ph.span, parent == 0 ? ph.source : ph.work, ph.work, false});
  }
}

/// First chunk and number of chunks of a piece. All-to-alls number pieces by position, chunks by member.
struct ChunkRange {
  std::uint32_t first, count;
};
ChunkRange chunks_of_piece(const Schedule& schedule, const Phase& phase, std::uint32_t n, std::uint32_t piece);

/// Pieces that are adjacent in the same buffers form one move.
template <class F>
void stepwise_round(const Schedule& s, const Phase& ph, std::uint32_t n, std::uint32_t round, std::uint32_t group,
                    std::uint32_t base, F&& f) {
  const GroupFamily& family = s.families[ph.family];
  for_each_send(ph, n, round, [&](const Send& send) {
    const std::uint32_t src = actor_of(ph, family, n, group, send.src), dst = actor_of(ph, family, n, group, send.dst);
    Move m;
    for (std::uint32_t i = 0; i < send.pieces; ++i) {
      const Piece p = piece_of(ph, n, round, send, i);
      const ChunkRange c = chunks_of_piece(s, ph, n, p.number);
      const Move next{src, dst, base + c.first, c.count, p.from, p.to, p.reduce, p.operand};
      const bool joins = m.chunk_count > 0 && next.first_chunk == m.first_chunk + m.chunk_count &&
                         p.from == m.src_buffer && p.to == m.dst_buffer && p.operand == m.operand;
      if (joins)
        m.chunk_count += c.count;
      else if (m.chunk_count > 0)
        f(m);
      if (!joins && c.count > 0)
        m = next;
      else if (!joins)
        m.chunk_count = 0;
    }
    if (m.chunk_count > 0) f(m);
  });
}

/// In a reduce only the root has an output. Other ranks keep in scratch what a phase keeps in the output.
inline Move without_output(const Schedule& s, Move m) {
  const auto at = [&](std::uint32_t actor, Buffer b) {
    return b == Buffer::kOutput && actor != s.root ? Buffer::kScratch : b;
  };
  m.src_buffer = at(m.src, m.src_buffer);
  m.dst_buffer = at(m.dst, m.dst_buffer);
  m.operand = at(m.dst, m.operand);
  return m;
}

}  // namespace moves_internal

/// Calls f(Move) for every move of `round` in all groups. Every move of a round sends data from earlier rounds. So the
/// order (group, then position or node, ascending) matters only for reductions into one chunk, which take turns.
/// Cost: O(actors of the family); for trees a further factor log2 n; O(pieces sent) for stepwise patterns.
template <class F>
void for_each_move(const Schedule& schedule, const Phase& phase, std::uint32_t round, F&& f) {
  const GroupFamily& family = schedule.families[phase.family];
  const std::uint32_t n = family.size(), groups = family.groups();
  if (n <= 1 && !uses_hub(phase.pattern)) return;
  const auto emit = [&](const Move& m) {
    f(schedule.op == Collective::kReduce ? moves_internal::without_output(schedule, m) : m);
  };
  for (std::uint32_t g = 0; g < groups; ++g) {
    const std::uint32_t base = phase.chunk_base + family.chunk_offset(g);
    const auto actor_at = [&](std::uint32_t position) { return family.actor(g, family.member_at(position)); };
    switch (phase.pattern) {
      case Pattern::kRingReduceScatter:
      case Pattern::kRingAllGather:
        moves_internal::ring_round(phase, family, n, round, base, actor_at, emit);
        break;
      case Pattern::kChainBroadcast:
      case Pattern::kChainReduce:
        moves_internal::chain_round(phase, n, round, base, actor_at, emit);
        break;
      case Pattern::kTreeReduce:
      case Pattern::kTreeBroadcast:
        moves_internal::tree_round(schedule, phase, n, round, base, actor_at, emit);
        break;
      default:
        moves_internal::stepwise_round(schedule, phase, n, round, g, base, emit);
        break;
    }
  }
}

}  // namespace busbar::collectives
