// The bytes of a stage on each link.
#pragma once

#include <cstdint>

#include "busbar/lowering/capacity_table.h"
#include "busbar/lowering/lowering.h"

namespace busbar::lowering {

/// Calls f(link, bytes) for all that the fluids of the stage send, `times` over; several times for a link that several
/// cross.
template <typename F>
void for_each_link_bytes(const Stage& stage, const CapacityTable& capacities, double times, F f) {
  for (const Fluid& fluid : stage.fluids)
    for (std::uint32_t i = fluid.begin; i < fluid.end; ++i)
      capacities.for_each_link(
          stage.on[i], [&](topology::LinkId l, double part) { f(l, times * stage.weight[i] * fluid.bytes * part); });
}

}  // namespace busbar::lowering
