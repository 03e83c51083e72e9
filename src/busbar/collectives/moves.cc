#include "busbar/collectives/moves.h"

#include "busbar/base/check.h"

namespace busbar::collectives {

std::uint32_t rounds(const Schedule& schedule, const Phase& phase) {
  const std::uint32_t n = schedule.families[phase.family].size();
  if (is_stepwise(phase.pattern)) return n <= 1 && !uses_hub(phase.pattern) ? 0 : stepwise_rounds(phase.pattern, n);
  return is_tree(phase.pattern) ? TreeNodes(schedule, phase, n).height() : n - 1;
}

namespace moves_internal {

ChunkRange chunks_of_piece(const Schedule& s, const Phase& phase, std::uint32_t n, std::uint32_t piece) {
  const GroupFamily& family = s.families[phase.family];
  switch (phase.pattern) {
    case Pattern::kBruckAllToAll:
    case Pattern::kPairwiseAllToAll:
    case Pattern::kDirectAllToAll: {
      BUSBAR_CHECK(s.chunks < UINT32_MAX) << s.ranks << " ranks have more pairs than a move can number";
      const std::uint32_t from = family.member_at(piece / n), to = family.member_at(piece % n);
      return {s.pairs.first(n, from, to) * phase.span, s.pairs.count(n, from, to) * phase.span};
    }
    case Pattern::kDirectAllReduce:
    case Pattern::kHubReduce:
    case Pattern::kHubMulticast:
    case Pattern::kHubUp:
    case Pattern::kHubDown:
      return {0, phase.span};
    default:
      return {family.member_at(piece) * phase.span, phase.span};
  }
}

}  // namespace moves_internal

}  // namespace busbar::collectives
