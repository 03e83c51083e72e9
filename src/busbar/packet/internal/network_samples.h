// What the network shows of itself: samples of its wires, and sums of lanes.
#pragma once

#include "busbar/packet/internal/network.h"

namespace busbar::packet {

template <class Hosts>
void Network<Hosts>::sample(Ps now, std::vector<PacketLinkSample>& out) const {
  for (std::uint32_t w = 0; w < ports_.size(); ++w) {
    if (wiring_.wires()[w].joint) continue;
    const Port& o = ports_[w];
    Ps paused = o.paused;
    if (!many_ && o.stopped) paused += now - o.paused_since;
    for (std::uint32_t l = 0; many_ && l < lane_count_; ++l)
      if (lane(w, l).stopped) paused += now - lane(w, l).paused_since;
    out.push_back(
        {wiring_.wires()[w].link, o.sent_bytes, o.queued, Duration::ps(paused), o.marks, o.trims, o.drops, o.pauses});
  }
}

template <class Hosts>
void Network<Hosts>::add_to_lanes(std::uint32_t wire, std::vector<PacketLane>& lanes) const {
  if (!many_) return;
  lanes.resize(lane_count_);
  for (std::uint32_t l = 0; l < lane_count_; ++l) {
    const LaneQueue& q = lane(wire, l);
    lanes[l].marks += q.marks;
    lanes[l].trims += q.trims;
    lanes[l].drops += q.drops;
    lanes[l].pauses += q.pauses;
    lanes[l].paused += Duration::ps(q.paused);
  }
}

}  // namespace busbar::packet
