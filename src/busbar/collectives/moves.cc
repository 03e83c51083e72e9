#include "busbar/collectives/moves.h"

namespace busbar {

std::uint32_t rounds(const Schedule& schedule, const Phase& phase) {
  const std::uint32_t n = schedule.families[phase.family].size();
  const bool tree = phase.pattern == Pattern::kTreeReduce || phase.pattern == Pattern::kTreeBroadcast;
  return tree ? tree_height(n) : n - 1;
}

}  // namespace busbar
