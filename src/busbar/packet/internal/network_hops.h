// A packet at a hop: it arrives, joins a queue, gets its turn and leaves.
#pragma once

#include "busbar/packet/internal/network.h"

namespace busbar::packet {

// HOT: bench/run packet. Called once per packet and hop, like transmit().
template <class Hosts>
void Network<Hosts>::arrive(std::uint32_t wire, Ps now) {
  Port& from = ports_[wire];
  if (from.cut && waits_for_tail(wire, from, now)) [[unlikely]]
    return;
  const Id id = from.flying.pop(pool_);
  const std::uint32_t node = from.to;
  const std::uint32_t way = fronts_[wire].way;
  if (!from.flying.empty()) {
    await_arrival(wire, from);
  } else if (from.host && from.busy > now) {  // cut-through: its tail is still being sent
    events_.push(static_cast<std::uint32_t>(ports_.size()) + wire, from.busy);
  } else if (from.host) {
    hosts_.run_dry(wire, now);
  } else if (!eager_ && (from.queued > 0 || from.queued_control > 0)) {
    settle(wire, from, now);
    if (from.flying.empty() && from.busy > now) {
      await_end(wire, from);
    } else if (from.flying.empty()) {
      serve(wire, from, from.busy);  // without latency the port has its turn only now
    }
  }
  if (from.troubled && !survives(wire, id, now)) [[unlikely]]
    return;
  forward(id, node, way, now);
}

/// The first record on a wire will be the next to arrive there.
template <class Hosts>
inline void Network<Hosts>::await_arrival(std::uint32_t wire, const Port& o) {
  const Packet& p = pool_[o.flying.head];
  fronts_[wire] = {o.flying.head, ports_.size() < kManyWires ? first_way(p, wire, o) : kOpenWay};
  events_.push(wire, p.time);
}

/// The wire by which a record goes on at the end of `wire`, if nothing later can change that.
template <class Hosts>
inline std::uint32_t Network<Hosts>::way_after(const Packet& p, std::uint32_t wire, const Port& o) const {
  if (!plans_ || p.kind >= Kind::kPause) return kOpenWay;
  const std::uint32_t node = o.to;
  const Leg& leg = hosts_.leg(p.flow, p.kind != Kind::kData);
  if (node == leg.target) return kWayEnds;
  const bool fabric = node < wiring_.switches();
  const auto wires = fabric && leg.nic != kNone32 ? wiring_.next(node, leg.nic) : wiring_.next_inside(node, leg);
  if (wires.size() == 1) return wires[0];
  return wires.empty() || (!fabric && wiring_.wires()[wire].joint) ? kOpenWay : hashed(wires, p, node);
}

template <class Hosts>
inline void Network<Hosts>::forward(Id id, std::uint32_t node, std::uint32_t way, Ps now) {
  if (way < kWayEnds) return enqueue(way, id, now);
  Packet& p = pool_[id];
  if (p.kind >= Kind::kPause) [[unlikely]] {
    const Packet permit = p;  // a copy: packets that it lets go may move the pool
    pool_.give(id);
    return take_permit(permit.wire ^ 1, permit, now);
  }
  const Leg& leg = hosts_.leg(p.flow, p.kind != Kind::kData);
  if (node == leg.target) {
    if (credits() && p.kind == Kind::kData && !(p.flags & kTrimmed)) give_back(p.wire, lane_of(p), p.size, now);
    return hosts_.deliver(id, now);
  }
  const auto wires =
      node < wiring_.switches() && leg.nic != kNone32 ? wiring_.next(node, leg.nic) : wiring_.next_inside(node, leg);
  if (wires.empty()) [[unlikely]]
    return hosts_.lost(id);
  enqueue(wires.size() == 1 ? wires[0] : choose(wires, p, node, now), id, now);
}

template <class Hosts>
std::uint32_t Network<Hosts>::choose(std::span<const std::uint32_t> wires, const Packet& p, std::uint32_t node,
                                     Ps now) {
  if (node >= wiring_.switches() && wiring_.wires()[p.wire].joint) return emptiest(wires, now);
  if (options_.flowlet_gap > 0) return flowlet(wires, p, node, now);
  if (!options_.adaptive) return hashed(wires, p, node);
  return shorter(wires, p, node, now);
}

/// The shorter of two queues that the hash picks.
template <class Hosts>
std::uint32_t Network<Hosts>::shorter(std::span<const std::uint32_t> wires, const Packet& p, std::uint32_t node,
                                      Ps now) {
  const auto n = static_cast<std::uint32_t>(wires.size());
  const std::uint32_t h = path_of(p, node);
  const auto first = static_cast<std::uint32_t>(std::uint64_t{h} * n >> 32);
  const auto second = static_cast<std::uint32_t>(std::uint64_t{mix32(h)} * n >> 32);
  return load_of(wires[second], now) < load_of(wires[first], now) ? wires[second] : wires[first];
}

/// The time until a packet that joins now would be sent.
template <class Hosts>
Ps Network<Hosts>::load_of(std::uint32_t wire, Ps now) {
  Port& o = ports_[wire];
  settle(wire, o, now);
  return std::max<Ps>(0, o.busy - now) + speed(o).transfer(o.queued + o.queued_control);
}

/// A device sends its own packets by the first of its wires with the least load.
template <class Hosts>
std::uint32_t Network<Hosts>::emptiest(std::span<const std::uint32_t> wires, Ps now) {
  std::uint32_t best = wires[0];
  for (const std::uint32_t w : wires.subspan(1))
    if (load_of(w, now) < load_of(best, now)) best = w;
  return best;
}

template <class Hosts>
inline void Network<Hosts>::enqueue(std::uint32_t wire, Id id, Ps now) {
  Port& o = ports_[wire];
  settle(wire, o, now);
  if (options_.log != nullptr) [[unlikely]]
    options_.log->note_at(now, pool_[id], PacketEvent::kQueued, wiring_.wires()[wire].link, o.queued);
  if (const Packet& p = pool_[id]; p.kind == Kind::kData && !(p.flags & kTrimmed)) {
    if (o.queued > 0) histograms_[wire].add(o.queued);
    if (!admit(wire, o, id, p.wire, now)) return hosts_.lost(id);
    if (pausing()) hold(p.wire, lane_of(p), wiring_.wires()[wire].from, p.size, now);
  }
  const Packet& p = pool_[id];  // read only now: a pause frame may have moved the pool
  const bool control = p.kind != Kind::kData || (p.flags & kTrimmed);  // admit() may have trimmed it
  const bool idle = eager_ ? !o.armed : o.busy <= now;
  if (idle && o.queued_control == 0 &&
      (control || (o.queued == 0 && !(many_ ? lane(wire, lane_of(p)).stopped : o.stopped))))
    return launch(wire, o, id, now);
  if (control) {
    o.control.push(pool_, id);
    o.queued_control += p.size;
  } else {
    many_ ? queue_in_lane(wire, id) : o.data.push(pool_, id);
    o.queued += p.size;
    o.peak = std::max(o.peak, o.queued);
    if (many_ && eager_ && idle) serve(wire, o, now);  // the packets before it are in other lanes, and stopped
  }
  if (!eager_ && o.flying.empty()) await_end(wire, o);
}

/// Cut-through: the header of the packet being sent has arrived, its tail has not left. Waiting packets get their turn
/// when it has. Packets that wait for another part are served at the end of the window.
template <class Hosts>
void Network<Hosts>::await_end(std::uint32_t wire, Port& o) {
  if (o.armed) return;
  o.armed = 1;
  if (o.remote) return waiting_.push_back(wire);
  events_.push(static_cast<std::uint32_t>(ports_.size()) + wire, o.busy);
}

/// Sends every packet whose turn came before `now`.
template <class Hosts>
inline void Network<Hosts>::settle(std::uint32_t wire, Port& o, Ps now) {
  while (o.busy < now && serve(wire, o, o.busy)) {
  }
}

/// Sends the next packet, if any may be sent. The wire must be free at `start`.
template <class Hosts>
bool Network<Hosts>::serve(std::uint32_t wire, Port& o, Ps start) {
  if (o.queued_control > 0) {
    const Id id = o.control.pop(pool_);
    o.queued_control -= pool_[id].size;
    launch(wire, o, id, start);
    return true;
  }
  if (o.queued == 0 || o.stopped) return false;
  if (many_) [[unlikely]]
    return serve_lane(wire, o, start);
  const Id id = o.data.pop(pool_);
  Packet& p = pool_[id];
  prefetch(&pool_[p.next != kNone32 ? p.next : id]);
  o.queued -= p.size;
  note_wait(wire, p, start);
  if (eager_ && start > p.time && o.paused_until > p.time) note_pause(o.paused_since, o.paused_until, p);
  if (o.queued > options_.mark_low) mark(wire, o, o.queued, p, start);
  launch(wire, o, id, start);
  return true;
}

template <class Hosts>
inline void Network<Hosts>::note_wait(std::uint32_t wire, Packet& p, Ps start) const {
  const Ps waited = start - p.time;
  const bool longer = waited > p.worst_wait;  // no branch: a processor would guess it wrong
  p.worst = longer ? wire : p.worst;
  p.worst_wait = longer ? static_cast<std::uint32_t>(std::min<Ps>(waited, UINT32_MAX)) : p.worst_wait;
}

/// Whether the packet may wait here; it may be trimmed to fit.
template <class Hosts>
inline bool Network<Hosts>::admit(std::uint32_t wire, Port& o, Id id, std::uint32_t from, Ps now) {
  Packet& p = pool_[id];
  if (eager_) {
    if (credits() || fits_headroom(from, lane_of(p), p.size)) return true;
    note_trouble(wire, o, p, PacketEvent::kDropped, now);
    return false;
  }
  if ((many_ ? lane(wire, lane_of(p)).queued : o.queued) + p.size <= options_.queue_bytes) return true;
  if (options_.trim && o.queued_control + options_.header_bytes <= options_.control_bytes) {
    note_trouble(wire, o, p, PacketEvent::kTrimmed, now);
    p.flags |= kTrimmed;
    p.size = static_cast<std::uint16_t>(options_.header_bytes);
    return true;
  }
  note_trouble(wire, o, p, PacketEvent::kDropped, now);
  return false;
}

/// Counts a mark, a trim or a drop.
template <class Hosts>
void Network<Hosts>::note_trouble(std::uint32_t wire, Port& o, const Packet& p, PacketEvent what, Ps now) {
  ++(what == PacketEvent::kMarked ? o.marks : what == PacketEvent::kTrimmed ? o.trims : o.drops);
  if (many_) {
    LaneQueue& l = lane(wire, lane_of(p));
    ++(what == PacketEvent::kMarked ? l.marks : what == PacketEvent::kTrimmed ? l.trims : l.drops);
  }
  if (options_.log != nullptr) options_.log->note_at(now, p, what, wiring_.wires()[wire].link, o.queued);
}

template <class Hosts>
void Network<Hosts>::mark(std::uint32_t wire, Port& o, std::uint32_t queued, Packet& p, Ps now) {
  if (p.flags & kMarked) return;
  if (queued < options_.mark_high) {  // linear between the thresholds
    const std::uint64_t over = queued - options_.mark_low, range = options_.mark_high - options_.mark_low;
    const std::uint64_t dice = mix32(p.hash ^ mix32(p.seq ^ (p.flow << 12) ^ static_cast<std::uint32_t>(p.time >> 6)));
    if (dice * range >= over * options_.mark_most) return;
  }
  p.flags |= kMarked;
  note_trouble(wire, o, p, PacketEvent::kMarked, now);
}

template <class Hosts>
void Network<Hosts>::transmit(std::uint32_t wire, Id id, Ps start) {
  launch(wire, ports_[wire], id, start);
}

template <class Hosts>
inline void Network<Hosts>::launch(std::uint32_t wire, Port& o, Id id, Ps start) {
  Packet& p = pool_[id];
  const Speed& s = speed(o);
  const Ps took = s.transfer(p.size);
  if (eager_) [[unlikely]] {
    const bool data = p.kind == Kind::kData && !(p.flags & kTrimmed);
    o.serving = data && !o.host ? p.size : 0;
    o.serving_lane = static_cast<std::uint8_t>(lane_of(p));
    o.serving_from = p.wire;
    if (data && credits()) spend(wire, o, lane_of(p), p.size, start);
  }
  if (options_.load_over > 0) [[unlikely]]
    note_load(o, p, start + took);
  o.busy = start + took;
  o.sent_bytes += p.size;
  ++hops_;
  const Ps first = o.cut ? s.transfer(std::min<std::uint32_t>(p.size, options_.header_bytes)) : took;
  p.time = start + first + s.latency;
  p.wire = wire;
  if (p.kind == Kind::kData) {
    p.travel += first + s.latency;
    p.serial += static_cast<std::uint32_t>(first);
  }
  if (o.remote) [[unlikely]] {
    hand_over(o, id);
  } else {
    fly(wire, o, id);
  }
  if (eager_ && !o.host) {
    o.armed = 1;
    events_.push(static_cast<std::uint32_t>(ports_.size()) + wire, o.busy);
  }
}

template <class Hosts>
inline void Network<Hosts>::fly(std::uint32_t wire, Port& o, Id id) {
  const bool first = o.flying.empty();
  o.flying.push(pool_, id);
  if (first) await_arrival(wire, o);
}

template <class Hosts>
inline void Network<Hosts>::depart(std::uint32_t wire, Ps now) {
  Port& o = ports_[wire];
  if (o.host) return hosts_.run_dry(wire, now);
  o.armed = 0;
  if (!eager_ && o.busy > now) return;  // another record has taken this turn; its arrival serves the next
  release(wire, o, now);
  if (!o.armed) serve(wire, o, now);
}

}  // namespace busbar::packet
