#include "busbar/packet/internal/outlets.h"

#include <functional>

namespace busbar::packet {

Outlets::Outlets(HostRun& run, Senders& senders)
    : run_(run),
      senders_(senders),
      outlet_of_(run.wiring.wires().size(), kNone32),
      lanes_(std::max<std::uint32_t>(1, static_cast<std::uint32_t>(run.settings.lanes.size()))) {
  const Csr<std::uint32_t>& outlets = run.wiring.outlets();
  for (std::uint32_t o = 0; o < outlets.rows(); ++o) {
    Outlet outlet;
    outlet.first_wire = outlets.begin[o];
    outlet.wires = static_cast<std::uint32_t>(outlets.row(o).size());
    for (const std::uint32_t w : outlets.row(o)) outlet_of_[w] = o;
    outlets_.push_back(outlet);
  }
  if (lanes_ == 1) return;
  more_rings_.resize(outlets_.size() * (lanes_ - 1));
  turns_.resize(outlets_.size());
}

void Outlets::put_in_turn(std::uint32_t outlet, std::uint32_t slot, Ps now) {
  Sender& s = senders_[slot];
  Outlet& o = outlets_[outlet];
  s.queued = true;
  if (s.control.next_send > now) {
    o.paced.emplace_back(s.control.next_send, slot);
    std::push_heap(o.paced.begin(), o.paced.end(), std::greater<>());
    return;
  }
  ring_of(o, s.lane).push(senders_, slot);
}

std::uint32_t Outlets::take_paced(Outlet& o, Ps start) {
  if (o.paced.empty() || o.paced.front().first > start) return kNone32;
  const std::uint32_t slot = o.paced.front().second;
  std::pop_heap(o.paced.begin(), o.paced.end(), std::greater<>());
  o.paced.pop_back();
  senders_[slot].queued = false;
  senders_[slot].control.next_send = start;
  return slot;
}

std::uint32_t Outlets::take_turn(std::uint32_t outlet, std::uint32_t wire) {
  const std::uint32_t lane = lanes_ == 1 ? 0 : next_lane(outlet, wire);
  if (lane == kNoLane) return kNone32;
  SlotRing& ring = ring_of(outlets_[outlet], lane);
  if (ring.empty()) return kNone32;
  const std::uint32_t slot = ring.pop(senders_);
  senders_[slot].queued = false;
  return slot;
}

/// The wire of an outlet that is free first; a paused wire only if all are paused.
std::uint32_t Outlets::freest_wire(const Outlet& o) const {
  const auto& wires = run_.wiring.outlets().values;
  Network<Hosts>& network = *run_.network;
  std::uint32_t best = wires[o.first_wire];
  for (std::uint32_t i = 1; i < o.wires; ++i) {
    const std::uint32_t w = wires[o.first_wire + i];
    const Port &a = network.port(w), &b = network.port(best);
    if (a.troubled | b.troubled && network.down(w) != network.down(best)) [[unlikely]] {
      if (network.down(best)) best = w;
      continue;
    }
    if (a.stopped != b.stopped ? b.stopped != 0 : a.busy < b.busy) best = w;
  }
  return best;
}

bool Outlets::some_lane_ready(const Outlet& o, std::uint32_t wire) const {
  for (std::uint32_t l = 0; l < lanes_; ++l)
    if (!ring_of(o, l).empty() && !run_.network->lane_stopped(wire, l)) return true;
  return false;
}

/// Charges for a full packet; return_turn() returns the difference.
std::uint32_t Outlets::next_lane(std::uint32_t outlet, std::uint32_t wire) {
  const Outlet& o = outlets_[outlet];
  const auto full = static_cast<std::uint32_t>(run_.settings.control.packet_bytes);
  return pick_lane(turns_[outlet], run_.settings.lanes, full, [&](std::uint32_t l) {
    return ring_of(o, l).empty() || run_.network->lane_stopped(wire, l) ? 0 : full;
  });
}

}  // namespace busbar::packet
