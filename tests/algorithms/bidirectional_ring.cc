// Two rings over the same ranks, one in each direction, each with half of the buffer.
#include "busbar/collectives/builders.h"

namespace busbar::collectives {

Result<Schedule> build_bidirectional_ring(const ScheduleSpec& spec) {
  BUSBAR_ASSIGN(Schedule ring, build_ring(spec.op, spec.ranks, spec.root));
  std::vector<std::uint32_t> there(spec.ranks), back(spec.ranks);
  for (std::uint32_t i = 0; i < spec.ranks; ++i) there[i] = i, back[i] = spec.ranks - 1 - i;
  return with_orders(std::move(ring), {there, back});
}

}  // namespace busbar::collectives
