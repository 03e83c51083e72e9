// Cut-through switches, and flows that change their path in their pauses.
//
// Cut-through: on a wire to a switch, a record arrives with its header. It goes on at once if the output is not faster
// than the input, so no bit is due before it has come; otherwise it waits for its tail. From its header on it counts as
// queued in full. Hosts and devices inside servers take whole packets, but a device its own as they come.
//
// Flowlets: source Vanini et al., "Let it flow", NSDI 2017 (a table of places that flows are hashed to, a gap). The new
// path is the shorter of two random queues.
#pragma once

#include "busbar/packet/internal/network.h"

namespace busbar::packet {

/// Whether the first record on the wire, whose header has arrived, must wait for its tail. It then arrives again.
template <class Hosts>
bool Network<Hosts>::waits_for_tail(std::uint32_t wire, Port& from, Ps now) {
  if (wiring_.wires()[wire].joint) return false;  // it is no slower than the way out
  Packet& p = pool_[from.flying.head];
  if (p.flags & kWhole) {
    p.flags &= static_cast<std::uint8_t>(~kWhole);
    return false;
  }
  const Speed& s = speed(from);
  const Ps rest = s.transfer(p.size) - s.transfer(std::min<std::uint32_t>(p.size, options_.header_bytes));
  if (p.kind >= Kind::kPause || rest == 0) return false;
  if (const Leg& leg = hosts_.leg(p.flow, p.kind != Kind::kData); leg.nic != kNone32) {  // otherwise it ends here
    const auto ways = wiring_.next(from.to, leg.nic);
    if (ways.empty() || wiring_.cuts(wire, ways.front())) return false;  // all members of a group have one rate
  }
  p.flags |= kWhole;
  p.time = now + rest;
  if (p.kind == Kind::kData) {
    p.travel += rest;
    p.serial += static_cast<std::uint32_t>(rest);
  }
  events_.push(wire, p.time);
  return true;
}

template <class Hosts>
std::uint32_t Network<Hosts>::flowlet(std::span<const std::uint32_t> wires, const Packet& p, std::uint32_t node,
                                      Ps now) {
  if (node >= wiring_.switches()) return hashed(wires, p, node);
  const std::uint32_t way = p.kind == Kind::kData ? 0 : 0x5bd1e995u;  // both directions of a flow cross a spine
  Flowlet& f = flowlets_[std::size_t{node} * kFlowletPlaces + (mix32((p.hash >> 6) ^ way) & (kFlowletPlaces - 1))];
  const bool known = std::find(wires.begin(), wires.end(), f.wire) != wires.end();
  if (!known || now - f.last > options_.flowlet_gap) {
    Packet fresh;
    fresh.hash = mix32(p.hash ^ ++f.turn * 0x9e3779b9u);  // other candidates each time
    f.wire = shorter(wires, fresh, node, now);
  }
  f.last = now;
  return f.wire;
}

}  // namespace busbar::packet
