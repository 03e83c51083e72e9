// Ports with several lanes. Each lane has its own queue, marks, pauses and credits, and a count in each buffer.
//
// Control packets still go before all data. Ports with one lane never run this code.
#pragma once

#include "busbar/packet/internal/network.h"

namespace busbar::packet {

template <class Hosts>
void Network<Hosts>::make_lanes() {
  many_ = options_.lanes.size() > 1;
  lane_count_ = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(options_.lanes.size()));
  if (!many_) return;
  lanes_.resize(ports_.size() * lane_count_);
  turns_.resize(ports_.size());
  for (LaneQueue& l : lanes_) l.credits = options_.credit_bytes;
}

template <class Hosts>
void Network<Hosts>::queue_in_lane(std::uint32_t wire, Id id) {
  const Packet& p = pool_[id];
  LaneQueue& l = lane(wire, lane_of(p));
  l.queued += p.size;
  l.data.push(pool_, id);
}

template <class Hosts>
bool Network<Hosts>::serve_lane(std::uint32_t wire, Port& o, Ps start) {
  const std::uint32_t n =
      pick_lane(turns_[wire], options_.lanes, static_cast<std::uint32_t>(options_.packet_bytes), [&](std::uint32_t x) {
        const LaneQueue& l = lane(wire, x);
        return l.stopped || l.data.empty() ? 0u : std::uint32_t{pool_[l.data.head].size};
      });
  if (n == kNoLane) return false;
  LaneQueue& l = lane(wire, n);
  const Id id = l.data.pop(pool_);
  Packet& p = pool_[id];
  l.queued -= p.size;
  o.queued -= p.size;
  note_wait(wire, p, start);
  if (start > p.time && l.paused_until > p.time) note_pause(l.paused_since, l.paused_until, p);
  if (l.queued > options_.mark_low) mark(wire, o, l.queued, p, start);
  transmit(wire, id, start);
  return true;
}

template <class Hosts>
void Network<Hosts>::stop_lane(std::uint32_t wire, Port& o, std::uint32_t n, Ps now) {
  LaneQueue& l = lane(wire, n);
  if (l.stopped) return;
  l.stopped = true;
  l.paused_since = now;
  ++o.pauses;
  ++l.pauses;
  o.stopped = 1;
  for (std::uint32_t x = 0; x < lane_count_; ++x)
    if (!lane(wire, x).stopped) o.stopped = 0;
}

template <class Hosts>
void Network<Hosts>::free_lane(std::uint32_t wire, Port& o, std::uint32_t n, Ps now) {
  LaneQueue& l = lane(wire, n);
  if (!l.stopped) return;
  l.stopped = false;
  l.paused_until = now;
  o.paused += now - l.paused_since;
  l.paused += now - l.paused_since;
  o.stopped = 0;
}

}  // namespace busbar::packet
