#include "busbar/packet/internal/sending.h"

namespace busbar::packet {

Sending::Sending(HostRun& run)
    : run_(run), senders_(run.words), paths_(run.settings.paths, senders_.window_packets()), outlets_(run, senders_) {}

std::uint32_t Sending::take_sender(std::uint32_t flow) {
  const std::uint32_t before = senders_.size();
  const std::uint32_t slot = senders_.take();
  if (run_.settings.spray && senders_.size() > before) paths_.add_slot();
  run_.traffic.sender_of[flow] = slot;
  return slot;
}

/// All is acknowledged and the outlet has no turn due. Only the flow's timer still looks at it.
void Sending::let_go(std::uint32_t slot) {
  const Sender& s = senders_[slot];
  if (!s.done || s.queued) return;
  run_.traffic.sender_of[s.flow] = kOver;
  senders_.give(slot);
}

void Sending::start(std::uint32_t flow, Ps now) {
  const HostSettings& settings = run_.settings;
  const std::uint32_t slot = take_sender(flow);
  const std::uint32_t outlet = run_.leg(flow, false).outlet, route = run_.traffic.routes[flow];
  Sender& s = senders_[slot];
  s.flow = flow;
  s.packets = run_.packets_of(flow);
  s.hash = run_.hash_of(flow);
  s.lane = static_cast<std::uint8_t>(std::min<std::uint32_t>(run_.traffic.list.flows[flow].lane, outlets_.lanes() - 1));
  s.paths.at = s.paths.turn = (s.hash >> 26) & ~(64 / settings.paths - 1);
  s.clock = now;
  s.wires = run_.wiring.width(outlet);
  s.granted = settings.first_window(s.wires);
  begin(s, route, now);
  run_.traffic.outcomes[flow].start = SimTime::at(Duration::ps(now));
  run_.traffic.outcomes[flow].alone = Duration::ps(time_alone(s, route));
  run_.events.push(run_.source_of(flow), now + settings.timeout);
  if (settings.log != nullptr) settings.log->note(now, flow, PacketEvent::kStarted, 0);
  settle(outlet, now);
  offer(slot, now);
  kick(outlet, now);
}

void Sending::begin(Sender& s, std::uint32_t route, Ps now) {
  const HostSettings& settings = run_.settings;
  const std::uint32_t size = std::min(settings.full(), wire_size(s, 0));
  const Ps rtt = run_.wiring.idle_time(route, size) + run_.wiring.idle_time(route, settings.header);
  const Wire& slowest = run_.wiring.wires()[run_.wiring.route(route).slowest];
  const double rate = static_cast<double>(slowest.bytes) / static_cast<double>(slowest.ps_bytes);
  busbar::packet::begin(s.control, settings.control, now, rtt, static_cast<double>(rtt) * rate);
}

/// Packets follow each other over the slowest wire; the last, which may be smaller, follows a full one everywhere.
Ps Sending::time_alone(const Sender& s, std::uint32_t route) const {
  const std::uint32_t full = run_.settings.full(), last = wire_size(s, s.packets - 1);
  const Ps back = run_.wiring.idle_time(route, run_.settings.header);
  if (s.packets == 1) return run_.wiring.idle_time(route, last) + back;
  const std::uint32_t slowest = run_.wiring.route(route).slowest;
  const bool first = outlets_.of_wire(slowest) != kNone32;
  const Wire& wire = run_.wiring.wires()[slowest];
  return ((s.packets - 2) * wire.transfer(full) + wire.transfer(last)) / (first ? s.wires : 1) +
         run_.wiring.idle_time(route, full) + back;
}

std::uint32_t Sending::wire_size(const Sender& s, std::uint32_t seq) const {
  if (seq + 1 < s.packets) return run_.settings.full();
  const std::uint64_t before = std::uint64_t{seq} * run_.settings.payload;
  return static_cast<std::uint32_t>(count(run_.traffic.list.flows[s.flow].bytes) - before) + run_.settings.header;
}

/// Whether it has more to send, and must not. A flow that has sent everything is answered when all has arrived.
bool Sending::needs_answer(std::uint32_t slot) const {
  const Sender& s = senders_[slot];
  return (s.lost > 0 || s.next < s.packets) && !may_send(slot);
}

/// Gives a flow a turn at its outlet, if it may send and has none yet.
void Sending::offer(std::uint32_t slot, Ps now) {
  const Sender& s = senders_[slot];
  if (!s.queued && !s.done && may_send(slot)) outlets_.put_in_turn(run_.leg(s.flow, false).outlet, slot, now);
}

void Sending::settle(std::uint32_t outlet, Ps now) {
  for (;;) {
    const Outlet& o = outlets_[outlet];
    const std::uint32_t wire = outlets_.free_wire(o);
    const Ps at = outlets_.next_start(o, wire);
    if (at >= now) return;
    send_one(outlet, wire, at);
  }
}

void Sending::settle_all(Ps now) {
  for (std::uint32_t o = 0; o < outlets_.size(); ++o) settle(o, now);
}

void Sending::kick(std::uint32_t outlet, Ps now) {
  for (;;) {
    Outlet& o = outlets_[outlet];
    const std::uint32_t wire = outlets_.free_wire(o);
    const Port& port = run_.network->port(wire);
    const Ps at = outlets_.next_start(o, wire);
    if (at == Outlets::kNever) return;
    if (at <= now) {
      send_one(outlet, wire, now);
      continue;
    }
    if (!port.flying.empty() || port.busy > now) return;  // run_dry() will do it
    if (o.armed && at >= o.armed_at) return;
    const std::uint32_t source = run_.first_source + outlet;
    o.armed ? run_.events.advance(source, at) : run_.events.push(source, at);
    o.armed = true;
    o.armed_at = at;
    return;
  }
}

void Sending::wake(std::uint32_t outlet, Ps now) {
  outlets_[outlet].armed = false;
  settle(outlet, now);
  kick(outlet, now);
}

void Sending::run_dry(std::uint32_t wire, Ps now) {
  settle(outlets_.of_wire(wire), now);
  kick(outlets_.of_wire(wire), now);
}

void Sending::after_pause(std::uint32_t wire, Ps now) {
  Port& port = run_.network->port(wire);
  if (!port.stopped) port.busy = std::max(port.busy, now);
  kick(outlets_.of_wire(wire), now);
}

void Sending::send_first(std::uint32_t wire, Id id, Ps now) {
  settle(outlets_.of_wire(wire), now);
  run_.network->transmit(wire, id, std::max(now, run_.network->port(wire).busy));
}

void Sending::send_control(std::uint32_t outlet, Id id, Ps now) {
  settle(outlet, now);
  outlets_[outlet].control.push(run_.pool, id);
  kick(outlet, now);
}

void Sending::offer_paced(Outlet& o, Ps start) {
  for (std::uint32_t slot; (slot = outlets_.take_paced(o, start)) != kNone32;) {
    offer(slot, start);
    ask(slot, start);
    let_go(slot);
  }
}

void Sending::send_one(std::uint32_t outlet, std::uint32_t wire, Ps start) {
  Outlet& o = outlets_[outlet];
  if (!o.control.empty()) return run_.network->transmit(wire, o.control.pop(run_.pool), start);
  if (!o.paced.empty()) offer_paced(o, start);
  const std::uint32_t slot = outlets_.take_turn(outlet, wire);
  if (slot == kNone32) return;  // the paced flows may not send any more: a window has closed
  const Sender& s = senders_[slot];
  const auto full = static_cast<std::int64_t>(run_.settings.control.packet_bytes);
  if (!may_send(slot)) {  // the window has closed since, or all has arrived
    outlets_.return_turn(outlet, s.lane, full);
    ask(slot, start);
    return let_go(slot);
  }
  const Id id = make_packet(slot, start);
  outlets_.return_turn(outlet, s.lane, full - run_.pool[id].size);
  send_data(slot, id, wire, start);
}

Id Sending::make_packet(std::uint32_t slot, Ps start) {
  Sender& s = senders_[slot];
  const Id id = run_.pool.take();
  Packet& p = run_.pool[id];
  p = Packet{};
  p.flow = s.flow;
  p.flags = static_cast<std::uint8_t>(s.lane << kLaneShift);
  p.seq = senders_.pick_sequence(slot, p.flags);
  p.hash = next_path(slot);
  if (run_.settings.spray) paths_.note_used(slot, s.paths.at, p);
  p.sent = start;
  p.time = start;
  p.size = static_cast<std::uint16_t>(wire_size(s, p.seq));
  return id;
}

void Sending::send_data(std::uint32_t slot, Id id, std::uint32_t wire, Ps start) {
  const HostSettings& settings = run_.settings;
  Sender& s = senders_[slot];
  Packet& p = run_.pool[id];
  std::uint32_t last_of = kNone32;  // the flow whose last packet this is
  ++s.outstanding;
  ++s.sends;
  ++run_.out.data;
  if (p.flags & kResent) {
    ++run_.traffic.outcomes[s.flow].resent;
    ++run_.out.resent;
  } else if (s.next == s.packets) {
    s.new_done = start;
    last_of = s.flow;
  }
  if (outlets_.lanes() > 1) count_in_lane(s.lane, p);
  if (settings.log != nullptr) [[unlikely]]
    settings.log->note(start, s.flow, p.flags & kResent ? PacketEvent::kResent : PacketEvent::kSent, p.seq);
  before_send(s.control, settings.control, start);
  if (s.control.gap > 0) s.control.next_send = start + (s.control.gap * p.size >> 10) / s.wires;
  s.clock = start;
  s.unasked = may_send(slot);
  if (!s.unasked) p.flags |= kAskAck;
  run_.network->transmit(wire, id, start);
  const Ps busy = run_.network->port(wire).busy;
  if (s.unasked && !s.done) outlets_.put_in_turn(run_.leg(s.flow, false).outlet, slot, busy);
  if (last_of != kNone32) left(last_of, busy + run_.wiring.wires()[wire].latency);
}

/// The bits of a packet's hash that pick among equal paths.
std::uint32_t Sending::next_path(std::uint32_t slot) {
  Sender& s = senders_[slot];
  return run_.settings.spray ? (s.hash & ~63u) | paths_.next(slot, s.paths) : s.hash;
}

/// The flow's last packet is at the other end of its first wire at `there`: sent in retrospect perhaps, but before
/// that. It has left no earlier than over its slowest wire alone: in front of that, its packets only queue.
void Sending::left(std::uint32_t flow, Ps there) {
  const PacketOutcome& o = run_.traffic.outcomes[flow];
  const Ps alone = (o.start + o.alone).since_start().in_ps() - run_.wiring.route(run_.traffic.routes[flow]).latency;
  run_.trigger(flow, program::FlowTrigger::kSent, std::max(there, alone));
}

void Sending::count_in_lane(std::uint32_t lane, const Packet& p) {
  run_.out.lanes.resize(outlets_.lanes());
  ++run_.out.lanes[lane].data;
  if (p.flags & kResent) ++run_.out.lanes[lane].resent;
}

void Sending::sample(std::vector<PacketFlowSample>& out) const {
  const HostSettings& settings = run_.settings;
  const auto full = static_cast<std::uint64_t>(settings.control.packet_bytes);
  for (const Sender& s : senders_.all()) {
    if (s.packets == 0 || s.done) continue;
    const double pace = s.control.gap > 0 ? 1e12 * 1024 * s.wires / static_cast<double>(s.control.gap) : 0;
    const std::uint64_t acked =
        std::min(std::uint64_t{s.acked} * settings.payload, count(run_.traffic.list.flows[s.flow].bytes));
    out.push_back({s.flow, s.acked, acked, s.outstanding * full, s.control.window * s.wires, pace});
  }
}

}  // namespace busbar::packet
