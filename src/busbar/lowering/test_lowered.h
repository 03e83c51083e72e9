// What tests ask of lowered calls.
#pragma once

#include "busbar/lowering/lowering.h"
#include "busbar/lowering/test_network.h"

namespace busbar::lowering {

inline Result<LoweredCall> try_lower(const TestNetwork& m, const program::CollectiveCall& call,
                                     const program::ProtocolModel& protocol = {}, const Shortcuts& shortcuts = {}) {
  return Lowering(m.router, m.placement, protocol, shortcuts).lower(call);
}

/// The call alone, by its closed form.
inline double lowered_ms(const TestNetwork& m, const program::CollectiveCall& call,
                         const program::ProtocolModel& protocol = {}) {
  return closed_form_ps(try_lower(m, call, protocol).value()) * 1e-9;
}

/// What the call puts on each link.
inline std::vector<double> bytes_of_links(const CapacityTable& capacities, const LoweredCall& call,
                                          std::uint32_t links) {
  std::vector<double> out(links, 0.0);
  for (const Stage& s : call.stages)
    for (const Fluid& f : s.fluids)
      for (std::uint32_t i = f.begin; i < f.end; ++i)
        capacities.for_each_link(
            s.on[i], [&](topology::LinkId l, double part) { out[index(l)] += part * s.weight[i] * f.bytes; });
  return out;
}

}  // namespace busbar::lowering
