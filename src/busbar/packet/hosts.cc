#include "busbar/packet/internal/hosts.h"

#include <bit>

#include "busbar/packet/internal/bits.h"

namespace busbar::packet {

Hosts::Hosts(Traffic& traffic, Pool& pool, EventQueue& events, const HostSettings& settings, const NetworkPart& part,
             PacketResult& out)
    : wiring_(traffic.wiring),
      traffic_(traffic),
      pool_(pool),
      events_(events),
      settings_(settings),
      part_(part),
      out_(out) {
  const auto window = static_cast<std::uint32_t>(settings.control.max_window / settings.control.packet_bytes) + 1;
  const Csr<std::uint32_t>& outlets = wiring_.outlets();
  std::uint32_t side_by_side = 1;
  outlet_of_.assign(wiring_.wires().size(), kNone32);
  for (std::uint32_t o = 0; o < outlets.rows(); ++o) {
    Outlet outlet;
    outlet.first_wire = outlets.begin[o];
    outlet.wires = static_cast<std::uint32_t>(outlets.row(o).size());
    outlet.width = wiring_.width(o);
    for (const std::uint32_t w : outlets.row(o)) outlet_of_[w] = o;
    outlets_.push_back(outlet);
    side_by_side = std::max(side_by_side, outlet.width);
  }
  lanes_ = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(settings.lanes.size()));
  if (lanes_ > 1) {
    more_rings_.resize(outlets_.size() * (lanes_ - 1));
    turns_.resize(outlets_.size());
  }
  words_ = std::bit_ceil(std::max(4u, 2 * window * side_by_side / 64 + 1));
  events_.reserve(first_source() + 2 * outlets.rows() + traffic.size());
}

void Hosts::join(Network<Hosts>& network) { network_ = &network; }

void Hosts::take_event(std::uint32_t source, Ps now) {
  std::uint32_t n = source - first_source();
  if (n < outlets_.size()) return wake(n, now);
  n -= static_cast<std::uint32_t>(outlets_.size());
  if (n < outlets_.size()) return pull(n, now);
  n -= static_cast<std::uint32_t>(outlets_.size());
  const std::uint32_t slot = traffic_.sender_of[n];
  if (slot == kNone32) return start(n, now);
  if (slot != kOver) timer(slot, now);
}

void Hosts::begin() {
  for (std::uint32_t f = 0; f < traffic_.size(); ++f)
    if (traffic_.waits_for[f] == 0 && part_.sends(wiring_, leg(f, false))) trigger_start(f);
}

std::uint32_t Hosts::add_block(std::uint32_t flows) {
  const std::uint32_t first = traffic_.size() - flows;
  const auto block = static_cast<std::uint32_t>(left_in_block_.size());
  block_of_.resize(traffic_.size(), block);
  events_.reserve(source_of(traffic_.size()));
  std::uint32_t here = 0;
  for (std::uint32_t f = first; f < traffic_.size(); ++f) {
    here += part_.owns(leg(f, false).target) ? 1 : 0;
    if (traffic_.waits_for[f] == 0 && part_.sends(wiring_, leg(f, false))) trigger_start(f);
  }
  left_in_block_.push_back(here);
  return here;
}

void Hosts::end_in_block(std::uint32_t flow, std::uint32_t wire, Ps now) {
  if (block_of_.empty() || --left_in_block_[block_of_[flow]] > 0) return;
  ended_blocks_.push_back({block_of_[flow], wire, now});
}

/// Schedules the event of the start, which may be now.
void Hosts::trigger_start(std::uint32_t flow) {
  events_.push(source_of(flow), traffic_.ready[flow] + traffic_.list.flows[flow].overhead.in_ps());
}

void Hosts::trigger(std::uint32_t flow, program::FlowTrigger what, Ps now) {
  for (const std::uint32_t next : traffic_.successors.row(flow)) {
    const program::ListedFlow& waiting = traffic_.list.flows[next];
    const bool in_turn = waiting.trigger == program::FlowTrigger::kSent;
    const bool own = in_turn && waiting.from == traffic_.list.flows[flow].from;
    if (what != (in_turn && !own ? program::FlowTrigger::kReceived : waiting.trigger)) continue;
    // The overhead of what only waits for its turn overlaps.
    traffic_.ready[next] = std::max(traffic_.ready[next], own ? now - waiting.overhead.in_ps() : now);
    if (--traffic_.waits_for[next] == 0) trigger_start(next);
  }
}

std::uint32_t Hosts::take_sender(std::uint32_t flow) {
  auto slot = static_cast<std::uint32_t>(senders_.size());
  if (free_senders_.empty()) {
    senders_.emplace_back();
    sent_bits_.resize(sent_bits_.size() + 2 * words_);
    if (settings_.spray) {
      penalties_.emplace_back();
      used_.resize(used_.size() + window_packets());
    }
  } else {
    slot = free_senders_.back();
    free_senders_.pop_back();
    senders_[slot] = Sender{};
    std::fill_n(known(slot), 2 * words_, 0);
  }
  traffic_.sender_of[flow] = slot;
  return slot;
}

std::uint32_t Hosts::take_receiver(std::uint32_t flow) {
  auto slot = static_cast<std::uint32_t>(receivers_.size());
  if (free_receivers_.empty()) {
    receivers_.emplace_back();
    got_.resize(got_.size() + words_);
  } else {
    slot = free_receivers_.back();
    free_receivers_.pop_back();
    receivers_[slot] = Receiver{};
    std::fill_n(got(slot), words_, 0);
  }
  traffic_.receiver_of[flow] = slot;
  Receiver& r = receivers_[slot];
  r.flow = flow;
  r.packets = packets_of(flow);
  r.hash = hash_of(flow);
  return slot;
}

/// All is acknowledged and the outlet has no turn due. Only the flow's timer still looks at it.
void Hosts::let_go_sender(std::uint32_t slot) {
  const Sender& s = senders_[slot];
  if (!s.done || s.queued) return;
  traffic_.sender_of[s.flow] = kOver;
  free_senders_.push_back(slot);
}

/// All has arrived: later packets are answered without state.
void Hosts::let_go_receiver(std::uint32_t slot) {
  const Receiver& r = receivers_[slot];
  if (r.total < r.packets || r.queued) return;
  traffic_.receiver_of[r.flow] = kOver;
  free_receivers_.push_back(slot);
}

std::uint32_t Hosts::hash_of(std::uint32_t flow) const {
  return static_cast<std::uint32_t>(mix64(settings_.seed ^ mix64(flow)));
}

std::uint32_t Hosts::packets_of(std::uint32_t flow) const {
  const std::uint64_t bytes = count(traffic_.list.flows[flow].bytes);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (bytes + settings_.payload - 1) / settings_.payload));
}

/// The event of the start of work comes at its end.
void Hosts::end_work(std::uint32_t flow, Ps now) {
  PacketOutcome& o = traffic_.outcomes[flow];
  o.fct = o.received = o.alone = o.parts.held = traffic_.list.flows[flow].overhead;
  o.start = SimTime::at(Duration::ps(now) - o.fct);
  o.done = true;
  traffic_.sender_of[flow] = kOver;
  ++finished_;
  ++delivered_;  // a sign of life, for the search for deadlocks
  out_.received = std::max(out_.received, SimTime::at(Duration::ps(now)));
  out_.end = std::max(out_.end, SimTime::at(Duration::ps(now)));
  end_in_block(flow, 0, now);
  for (const program::FlowTrigger what :
       {program::FlowTrigger::kSent, program::FlowTrigger::kReceived, program::FlowTrigger::kAcked})
    trigger(flow, what, now);
}

void Hosts::start(std::uint32_t flow, Ps now) {
  if (traffic_.list.flows[flow].is_work()) return end_work(flow, now);
  const std::uint32_t slot = take_sender(flow);
  const std::uint32_t outlet = leg(flow, false).outlet, route = traffic_.routes[flow];
  Sender& s = senders_[slot];
  s.flow = flow;
  s.packets = packets_of(flow);
  s.hash = hash_of(flow);
  s.lane = static_cast<std::uint8_t>(std::min<std::uint32_t>(traffic_.list.flows[flow].lane, lanes_ - 1));
  s.path = (s.hash >> 26) & ~(64 / settings_.paths - 1);
  s.paths.turn = s.path;
  s.clock = now;
  s.wires = outlets_[outlet].width;
  s.granted = first_window(s.wires);
  const std::uint32_t full = settings_.payload + settings_.header;
  const std::uint32_t size = std::min(full, wire_size(s, 0));
  const Ps rtt = wiring_.idle_time(route, size) + wiring_.idle_time(route, settings_.header);
  const Wire& slowest = wiring_.wires()[wiring_.route(route).slowest];
  const double rate = static_cast<double>(slowest.bytes) / static_cast<double>(slowest.ps_bytes);
  busbar::packet::begin(s.control, settings_.control, now, rtt, static_cast<double>(rtt) * rate);
  traffic_.outcomes[flow].start = SimTime::at(Duration::ps(now));
  traffic_.outcomes[flow].alone = Duration::ps(time_alone(s, route));
  events_.push(source_of(flow), now + settings_.timeout);
  if (settings_.log != nullptr) settings_.log->note(now, flow, PacketEvent::kStarted, 0);
  settle(outlet, now);
  offer(slot, now);
  kick(outlet, now);
}

/// Packets follow each other over the slowest wire; the last, which may be smaller, follows a full one everywhere.
Ps Hosts::time_alone(const Sender& s, std::uint32_t route) const {
  const std::uint32_t full = settings_.payload + settings_.header, last = wire_size(s, s.packets - 1);
  const Ps back = wiring_.idle_time(route, settings_.header);
  if (s.packets == 1) return wiring_.idle_time(route, last) + back;
  const std::uint32_t slowest = wiring_.route(route).slowest;
  const bool first = outlet_of_[slowest] != kNone32;
  const Wire& wire = wiring_.wires()[slowest];
  return ((s.packets - 2) * wire.transfer(full) + wire.transfer(last)) / (first ? s.wires : 1) +
         wiring_.idle_time(route, full) + back;
}

std::uint32_t Hosts::wire_size(const Sender& s, std::uint32_t seq) const {
  if (seq + 1 < s.packets) return settings_.payload + settings_.header;
  const std::uint64_t before = std::uint64_t{seq} * settings_.payload;
  return static_cast<std::uint32_t>(count(traffic_.list.flows[s.flow].bytes) - before) + settings_.header;
}

/// Whether it has more to send, and must not. A flow that has sent everything is answered when all has arrived.
bool Hosts::needs_answer(std::uint32_t slot) const {
  const Sender& s = senders_[slot];
  return (s.lost > 0 || s.next < s.packets) && !may_send(slot);
}

/// Puts a flow in the ring of its outlet, if it may send and is not in it yet.
void Hosts::offer(std::uint32_t slot, Ps now) {
  const Sender& s = senders_[slot];
  if (!s.queued && !s.done && may_send(slot)) put_in_turn(slot, now);
}

/// Pre: it may send, is not done and not in the ring yet.
void Hosts::put_in_turn(std::uint32_t slot, Ps now) {
  Sender& s = senders_[slot];
  Outlet& o = outlets_[leg(s.flow, false).outlet];
  s.queued = true;
  if (s.control.next_send > now) {
    o.paced.emplace_back(s.control.next_send, slot);
    std::push_heap(o.paced.begin(), o.paced.end(), std::greater<>());
    return;
  }
  s.ring_next = kNone32;
  Ring& ring = ring_of(o, s.lane);
  if (ring.head == kNone32) {
    ring.head = slot;
  } else {
    senders_[ring.tail].ring_next = slot;
  }
  ring.tail = slot;
}

/// The wire of an outlet that is free first; a paused wire only if all are paused.
std::uint32_t Hosts::freest_wire(const Outlet& o) const {
  const auto& wires = wiring_.outlets().values;
  std::uint32_t best = wires[o.first_wire];
  for (std::uint32_t i = 1; i < o.wires; ++i) {
    const std::uint32_t w = wires[o.first_wire + i];
    const Port &a = network_->port(w), &b = network_->port(best);
    if (a.troubled | b.troubled && network_->down(w) != network_->down(best)) [[unlikely]] {
      if (network_->down(best)) best = w;
      continue;
    }
    if (a.stopped != b.stopped ? b.stopped != 0 : a.busy < b.busy) best = w;
  }
  return best;
}

/// Sends every packet whose turn came before `now`.
void Hosts::settle(std::uint32_t outlet, Ps now) {
  for (;;) {
    const std::uint32_t wire = free_wire(outlets_[outlet]);
    const Ps at = next_start(outlets_[outlet], wire);
    if (at >= now) return;
    send_one(outlet, wire, at);
  }
}

void Hosts::settle_all(Ps now) {
  for (std::uint32_t o = 0; o < outlets_.size(); ++o) settle(o, now);
}

void Hosts::sample(std::vector<PacketFlowSample>& out) const {
  const auto full = static_cast<std::uint64_t>(settings_.control.packet_bytes);
  for (const Sender& s : senders_) {
    if (s.packets == 0 || s.done) continue;
    const double pace = s.control.gap > 0 ? 1e12 * 1024 * s.wires / static_cast<double>(s.control.gap) : 0;
    const std::uint64_t acked =
        std::min(std::uint64_t{s.acked} * settings_.payload, count(traffic_.list.flows[s.flow].bytes));
    out.push_back({s.flow, s.acked, acked, s.outstanding * full, s.control.window * s.wires, pace});
  }
}

/// After a change at `now`, with the past settled: sends the packets that can leave at once and schedules the others.
void Hosts::kick(std::uint32_t outlet, Ps now) {
  for (;;) {
    const std::uint32_t wire = free_wire(outlets_[outlet]);
    const Port& port = network_->port(wire);
    const Ps at = next_start(outlets_[outlet], wire);
    if (at == kNever) return;
    if (at <= now) {
      send_one(outlet, wire, now);
      continue;
    }
    Outlet& o = outlets_[outlet];
    if (!port.flying.empty() || port.busy > now) return;  // run_dry() will do it
    if (o.armed && at >= o.armed_at) return;
    o.armed ? events_.advance(first_source() + outlet, at) : events_.push(first_source() + outlet, at);
    o.armed = true;
    o.armed_at = at;
    return;
  }
}

void Hosts::wake(std::uint32_t outlet, Ps now) {
  outlets_[outlet].armed = false;
  settle(outlet, now);
  kick(outlet, now);
}

void Hosts::run_dry(std::uint32_t wire, Ps now) {
  settle(outlet_of_[wire], now);
  kick(outlet_of_[wire], now);
}

void Hosts::send_first(std::uint32_t wire, Id id, Ps now) {
  settle(outlet_of_[wire], now);
  network_->transmit(wire, id, std::max(now, network_->port(wire).busy));
}

void Hosts::after_pause(std::uint32_t wire, Ps now) {
  Port& port = network_->port(wire);
  if (!port.stopped) port.busy = std::max(port.busy, now);
  kick(outlet_of_[wire], now);
}

std::uint32_t Hosts::pick_sequence(std::uint32_t slot, std::uint8_t& flags) {
  Sender& s = senders_[slot];
  if (s.lost == 0) return s.next++;
  std::uint64_t* bits = missing(slot);
  std::uint32_t seq = s.all_before;
  while (!test(bits, words_, seq)) ++seq;
  clear(bits, words_, seq);
  --s.lost;
  flags |= kResent;
  return seq;
}

bool Hosts::some_lane_ready(const Outlet& o, std::uint32_t wire) const {
  for (std::uint32_t l = 0; l < lanes_; ++l)
    if (ring_of(o, l).head != kNone32 && !network_->lane_stopped(wire, l)) return true;
  return false;
}

/// Charges for a full packet; send_one() returns the difference.
std::uint32_t Hosts::next_lane(Outlet& o, std::uint32_t wire) {
  const auto full = static_cast<std::uint32_t>(settings_.control.packet_bytes);
  return pick_lane(turns_[number_of(o)], settings_.lanes, full, [&](std::uint32_t l) {
    return ring_of(o, l).head == kNone32 || network_->lane_stopped(wire, l) ? 0 : full;
  });
}

void Hosts::send_one(std::uint32_t outlet, std::uint32_t wire, Ps start) {
  Outlet& o = outlets_[outlet];
  if (!o.control.empty()) return network_->transmit(wire, o.control.pop(pool_), start);
  while (!o.paced.empty() && o.paced.front().first <= start) {
    const std::uint32_t slot = o.paced.front().second;
    std::pop_heap(o.paced.begin(), o.paced.end(), std::greater<>());
    o.paced.pop_back();
    senders_[slot].queued = false;
    senders_[slot].control.next_send = start;
    offer(slot, start);
    ask(slot, start);
    let_go_sender(slot);
  }
  const std::uint32_t lane = lanes_ == 1 ? 0 : next_lane(o, wire);
  const std::uint32_t slot = lane == kNoLane ? kNone32 : ring_of(o, lane).head;
  if (slot == kNone32) return;  // the paced flows may not send any more: a window has closed
  Sender& s = senders_[slot];
  ring_of(o, lane).head = s.ring_next;
  s.queued = false;
  if (!may_send(slot)) {  // the window has closed since, or all has arrived
    if (lanes_ > 1) turns_[outlet].left[lane] += static_cast<std::int64_t>(settings_.control.packet_bytes);
    ask(slot, start);
    return let_go_sender(slot);
  }
  const Id id = pool_.take();
  Packet& p = pool_[id];
  p = Packet{};
  p.flow = s.flow;
  p.flags = static_cast<std::uint8_t>(lane << kLaneShift);
  p.seq = pick_sequence(slot, p.flags);
  p.hash = next_path(slot);
  if (settings_.spray) note_used(slot, p);
  p.sent = start;
  p.time = start;
  p.size = static_cast<std::uint16_t>(wire_size(s, p.seq));
  if (lanes_ > 1) turns_[outlet].left[lane] += static_cast<std::int64_t>(settings_.control.packet_bytes) - p.size;
  std::uint32_t last_of = kNone32;  // the flow whose last packet this is
  ++s.outstanding;
  ++s.sends;
  ++out_.data;
  if (p.flags & kResent) {
    ++traffic_.outcomes[s.flow].resent;
    ++out_.resent;
  } else if (s.next == s.packets) {
    s.new_done = start;
    last_of = s.flow;
  }
  if (lanes_ > 1) count_in_lane(lane, p);
  if (settings_.log != nullptr) [[unlikely]]
    settings_.log->note(start, s.flow, p.flags & kResent ? PacketEvent::kResent : PacketEvent::kSent, p.seq);
  before_send(s.control, settings_.control, start);
  if (s.control.gap > 0) s.control.next_send = start + (s.control.gap * p.size >> 10) / s.wires;
  s.clock = start;
  s.unasked = may_send(slot);
  if (!s.unasked) p.flags |= kAskAck;
  network_->transmit(wire, id, start);
  if (s.unasked && !s.done) put_in_turn(slot, network_->port(wire).busy);
  if (last_of != kNone32) left(last_of, network_->port(wire).busy + wiring_.wires()[wire].latency);
}

/// The flow's last packet is at the other end of its first wire at `there`: sent in retrospect perhaps, but before
/// that. It has left no earlier than over its slowest wire alone: in front of that, its packets only queue.
void Hosts::left(std::uint32_t flow, Ps there) {
  const PacketOutcome& o = traffic_.outcomes[flow];
  const Ps alone = (o.start + o.alone).since_start().in_ps() - wiring_.route(traffic_.routes[flow]).latency;
  trigger(flow, program::FlowTrigger::kSent, std::max(there, alone));
}

void Hosts::count_in_lane(std::uint32_t lane, const Packet& p) {
  out_.lanes.resize(lanes_);
  ++out_.lanes[lane].data;
  if (p.flags & kResent) ++out_.lanes[lane].resent;
}

void Hosts::deliver(Id id, Ps now) {
  switch (pool_[id].kind) {
    case Kind::kData:
      return take_data(id, now);
    case Kind::kAck:
      return take_ack(id, now);
    case Kind::kPull:
      return take_pull(id, now);
    default:
      return take_nack(id, now);
  }
}

void Hosts::lost(Id id) { pool_.give(id); }

}  // namespace busbar::packet
