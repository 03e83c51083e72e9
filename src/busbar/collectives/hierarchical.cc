#include "busbar/collectives/builders.h"
#include "busbar/collectives/legality.h"

namespace busbar {
namespace {

constexpr std::uint16_t kInside = 0;  ///< family: each group of consecutive ranks
constexpr std::uint16_t kAcross = 1;  ///< family: the ranks with the same place in all groups

Phase phase_of(Pattern pattern, std::uint16_t family, std::uint32_t span, Buffer source, Buffer work, Buffer result) {
  Phase p;
  p.pattern = pattern;
  p.family = family;
  p.span = span;
  p.source = source;
  p.work = work;
  p.result = result;
  return p;
}

/// Chunk place x groups + g is the g-th part of the piece that the ranks of one place share: a run of chunks inside a
/// group, one chunk across groups.
void add_ring_phases(Schedule& s, std::uint32_t groups, std::uint32_t group_size) {
  constexpr auto in = Buffer::kInput, out = Buffer::kOutput, tmp = Buffer::kScratch;
  const bool scatters = s.op != Collective::kAllGather;
  const bool gathers = s.op != Collective::kReduceScatter;
  const Buffer sums = gathers ? out : tmp;
  if (scatters) {
    const Buffer inside = groups == 1 ? out : sums;  // nothing follows across groups
    s.phases.push_back(phase_of(Pattern::kRingReduceScatter, kInside, groups, in, sums, inside));
    s.phases.push_back(phase_of(Pattern::kRingReduceScatter, kAcross, 1, group_size == 1 ? in : sums, sums, out));
  }
  if (gathers) {
    s.phases.push_back(phase_of(Pattern::kRingAllGather, kAcross, 1, scatters ? out : in, out, out));
    s.phases.push_back(phase_of(Pattern::kRingAllGather, kInside, groups, out, out, out));
  }
}

}  // namespace

Result<Schedule> build_hierarchical(Collective op, std::uint32_t groups, std::uint32_t group_size,
                                    std::uint32_t root) {
  if (std::uint64_t{groups} * group_size >= kMaxRanks) return too_many_ranks(std::uint64_t{groups} * group_size);
  const std::uint32_t ranks = groups * group_size;
  BUSBAR_RETURN_IF_ERROR(check_ranks(ranks, root));
  Schedule s;
  s.algorithm = "hierarchical";
  s.op = op;
  s.ranks = ranks;
  s.root = root;
  GroupFamily inside, across;
  inside.outer = {Axis{.extent = groups, .actor_stride = group_size}};
  inside.inner = {Axis{.extent = group_size, .actor_stride = 1}};
  across.inner = {Axis{.extent = groups, .actor_stride = group_size}};
  if (op == Collective::kBroadcast) {
    s.chunks = 1;
    across.base = root % group_size;
    s.families = {inside, across};
    s.phases = {phase_of(Pattern::kChainBroadcast, kAcross, 1, Buffer::kInput, Buffer::kOutput, Buffer::kOutput),
                phase_of(Pattern::kChainBroadcast, kInside, 1, Buffer::kOutput, Buffer::kOutput, Buffer::kOutput)};
    s.phases[0].root = root / group_size;
    s.phases[1].root = root % group_size;
    return s;
  }
  if (op != Collective::kAllReduce && op != Collective::kAllGather && op != Collective::kReduceScatter)
    return not_built("hierarchical", op);
  s.chunks = ranks;
  across.outer = {Axis{.extent = group_size, .actor_stride = 1, .chunk_stride = groups}};
  s.families = {inside, across};
  s.layout = {Axis{.extent = groups, .chunk_stride = group_size}, Axis{.extent = group_size, .chunk_stride = 1}};
  add_ring_phases(s, groups, group_size);
  return s;
}

}  // namespace busbar
