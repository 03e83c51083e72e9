#include "busbar/packet/internal/host_run.h"

#include <bit>

namespace busbar::packet {

std::uint32_t HostRun::window_words() const {
  const auto window = static_cast<std::uint32_t>(settings.control.max_window / settings.control.packet_bytes) + 1;
  std::uint32_t side_by_side = 1;
  for (std::uint32_t o = 0; o < outlets; ++o) side_by_side = std::max(side_by_side, wiring.width(o));
  return std::bit_ceil(std::max(4u, 2 * window * side_by_side / 64 + 1));
}

void HostRun::trigger(std::uint32_t flow, program::FlowTrigger what, Ps now) {
  for (const std::uint32_t next : traffic.successors.row(flow)) {
    const program::ListedFlow& waiting = traffic.list.flows[next];
    const bool in_turn = waiting.trigger == program::FlowTrigger::kSent;
    const bool own = in_turn && waiting.from == traffic.list.flows[flow].from;
    if (what != (in_turn && !own ? program::FlowTrigger::kReceived : waiting.trigger)) continue;
    // The overhead of what only waits for its turn overlaps.
    traffic.ready[next] = std::max(traffic.ready[next], own ? now - waiting.overhead.in_ps() : now);
    if (--traffic.waits_for[next] == 0) trigger_start(next);
  }
}

}  // namespace busbar::packet
