// Two rings over the same ranks, one in each direction, each with half of the buffer.
#include "busbar/collectives/builders.h"

namespace busbar {

Result<collectives::Schedule> build_bidirectional_ring(const collectives::ScheduleSpec& spec) {
  BUSBAR_ASSIGN(collectives::Schedule ring, collectives::build_ring(spec.op, spec.ranks, spec.root));
  std::vector<std::uint32_t> there(spec.ranks), back(spec.ranks);
  for (std::uint32_t i = 0; i < spec.ranks; ++i) there[i] = i, back[i] = spec.ranks - 1 - i;
  return collectives::with_orders(std::move(ring), {there, back});
}

}  // namespace busbar
