// The receiving side: received packets, answers, grants to senders, and the parts of a flow's time.
#include "busbar/packet/internal/bits.h"
#include "busbar/packet/internal/hosts.h"

namespace busbar::packet {

void Hosts::take_data(Id id, Ps now) {
  const Packet p = pool_[id];
  pool_.give(id);
  std::uint32_t slot = traffic_.receiver_of[p.flow];
  if (slot == kOver) [[unlikely]]
    return answer_again(p, now);
  if (slot == kNone32) slot = take_receiver(p.flow);
  Receiver& r = receivers_[slot];
  const bool asks = (p.flags & kAskAck) != 0;
  if (asks && p.seq + 1 != r.packets) r.asked = std::max(r.asked, p.sent);  // all of it will be answered anyway
  if (p.flags & kTrimmed && p.seq == kNone32) return answer(slot, p, Kind::kAck, now);
  if (p.flags & kTrimmed) {
    if (settings_.grants) ++r.trims;
    ++r.trimmed;
    answer(slot, p, Kind::kNack, now);
  } else {
    if (settings_.recovery != Recovery::kTrimming && !report_gap(slot, p, now)) return;
    std::uint64_t* bits = got(slot);
    const bool fresh = p.seq >= r.all_before && !test(bits, words_, p.seq);
    if (settings_.log != nullptr) [[unlikely]]
      settings_.log->note(now, p.flow, PacketEvent::kReceived, p.seq);
    if (fresh) {
      set(bits, words_, p.seq);
      ++r.total;
      ++delivered_;
      if (p.worst_wait > r.worst_wait) r.worst_wait = p.worst_wait, r.worst = p.worst;
      if (p.flags & kResent && r.trimmed > 0) --r.trimmed;
      while (test(bits, words_, r.all_before)) clear(bits, words_, r.all_before++);
      if (r.total == r.packets) received(p, r, now);
    }
    ++r.unanswered;
    if (p.flags & kMarked) ++r.marked;
    r.load = p.paused;
    const bool all = r.total == r.packets;
    if (!fresh || all || r.trimmed > 0 || asks || p.sent <= r.asked || r.unanswered >= settings_.packets_per_ack) {
      answer(slot, p, Kind::kAck, now);
    }
    if (all) return let_go_receiver(slot);
  }
  if (settings_.grants && r.total < r.packets) want_pull(slot, now);
}

/// Handles skipped packet numbers, on paths that keep the order. False: the packet must be discarded.
bool Hosts::report_gap(std::uint32_t slot, const Packet& data, Ps now) {
  if (settings_.recovery == Recovery::kGoBack) {
    if (data.seq <= receivers_[slot].all_before) {
      receivers_[slot].reported = false;
      return true;
    }
    if (receivers_[slot].reported) return false;
    receivers_[slot].reported = true;
    Packet first = data;
    first.seq = receivers_[slot].all_before;
    answer(slot, first, Kind::kNack, now);
    return false;
  }
  Packet gone = data;
  const std::uint32_t highest = receivers_[slot].highest;
  receivers_[slot].highest = std::max(highest, data.seq + 1);
  for (gone.seq = highest; gone.seq < data.seq; ++gone.seq) {
    ++receivers_[slot].trimmed;
    answer(slot, gone, Kind::kNack, now);
  }
  return true;
}

/// An arrival has freed room on the path: its sender may send one more, in turn with the host's other senders.
void Hosts::want_pull(std::uint32_t slot, Ps now) {
  Receiver& r = receivers_[slot];
  const std::uint32_t outlet = leg(r.flow, true).outlet;
  const std::uint32_t window = first_window(outlets_[leg(r.flow, false).outlet].width);
  if (window + r.pulled + r.wanted >= r.packets + r.trims) return;  // the rest is already under way
  ++r.wanted;
  if (r.queued) return;
  r.queued = true;
  r.ring_next = kNone32;
  Outlet& o = outlets_[outlet];
  if (o.pull_head == kNone32) {
    o.pull_head = slot;
  } else {
    receivers_[o.pull_tail].ring_next = slot;
  }
  o.pull_tail = slot;
  if (o.pulling) return;
  o.pulling = true;
  events_.push(first_source() + static_cast<std::uint32_t>(outlets_.size()) + outlet, std::max(now, o.next_pull));
}

/// Grants one packet to the sender whose turn it is, at the rate of the host's wire.
void Hosts::pull(std::uint32_t outlet, Ps now) {
  Outlet& o = outlets_[outlet];
  const std::uint32_t slot = o.pull_head;
  Receiver& r = receivers_[slot];
  o.pull_head = r.ring_next;
  o.pulling = false;
  r.queued = false;
  const Port& port = network_->port(wiring_.outlets().values[o.first_wire]);
  o.next_pull =
      now + network_->speed(port).transfer(static_cast<std::uint32_t>(settings_.control.packet_bytes)) / o.wires;
  if (r.total < r.packets) {
    --r.wanted;
    ++r.pulled;
    const Id id = pool_.take();
    Packet& p = pool_[id];
    p = Packet{};
    p.kind = Kind::kPull;
    p.flow = r.flow;
    p.seq = r.pulled;
    p.size = static_cast<std::uint16_t>(settings_.header);
    p.hash = (r.hash & ~63u) | (r.pulled * kPathStep & 63);
    p.time = now;
    settle(outlet, now);
    outlets_[outlet].control.push(pool_, id);
    kick(outlet, now);
    if (r.wanted > 0) {
      --r.wanted;  // want_pull() counts it again, at the end of the ring
      want_pull(slot, now);
    }
  } else {
    let_go_receiver(slot);
  }
  if (o.pull_head != kNone32 && !o.pulling) {
    o.pulling = true;
    events_.push(first_source() + static_cast<std::uint32_t>(outlets_.size()) + outlet, o.next_pull);
  }
}

void Hosts::answer(std::uint32_t slot, const Packet& data, Kind kind, Ps now) {
  Receiver& r = receivers_[slot];
  const std::uint64_t* bits = got(slot);
  // The bits end with the answered packet, if it is further ahead than they reach.
  const bool ahead = kind == Kind::kAck && data.seq != kNone32 && data.seq >= r.all_before + 64;
  const std::uint32_t first = ahead ? data.seq - 63 : r.all_before;
  const std::uint32_t word = first >> 6 & (words_ - 1), shift = first & 63;
  std::uint64_t there = bits[word] >> shift;
  if (shift != 0) there |= bits[(word + 1) & (words_ - 1)] << (64 - shift);
  send_answer(r, data, kind, first, there, now);
  r.unanswered = r.marked = 0;
}

/// A packet of a flow that has arrived completely.
void Hosts::answer_again(const Packet& data, Ps now) {
  Receiver r;
  r.flow = data.flow;
  r.hash = hash_of(data.flow);
  r.all_before = r.total = packets_of(data.flow);
  const bool trimmed = (data.flags & kTrimmed) != 0 && data.seq != kNone32;
  if (!trimmed) {
    r.load = data.paused;
    r.marked = (data.flags & kMarked) != 0 ? 1 : 0;
  }
  send_answer(r, data, trimmed ? Kind::kNack : Kind::kAck, r.all_before, 0, now);
}

/// `there`: one bit for each of 64 packets from `first` on, set if it has arrived.
void Hosts::send_answer(const Receiver& r, const Packet& data, Kind kind, std::uint32_t first, std::uint64_t there,
                        Ps now) {
  const Id id = pool_.take();
  Packet& p = pool_[id];
  p = Packet{};
  p.kind = kind;
  p.flow = r.flow;
  p.size = static_cast<std::uint16_t>(settings_.header);
  p.sent = data.sent;
  p.worst_wait = data.hash;
  p.hash = settings_.spray ? (r.hash & ~63u) | (data.hash & 63) : r.hash;  // copies come by other paths
  p.time = now;
  p.flags = data.flags & kMarked;
  if (data.seq == kNone32) p.flags |= kAskAck;  // it says nothing of the delay of data
  p.serial = r.total;
  p.paused = r.load;
  p.worst = std::min(r.marked, 0xffffu);
  if (kind == Kind::kAck) {
    p.seq = r.all_before;
    p.worst |= (first - r.all_before) << 16;
    p.travel = static_cast<Ps>(there);
    ++out_.acks;
  } else {
    p.seq = data.seq;
    ++out_.nacks;
  }
  const std::uint32_t outlet = leg(r.flow, true).outlet;
  settle(outlet, now);
  outlets_[outlet].control.push(pool_, id);
  kick(outlet, now);
}

/// The last byte has arrived: the parts of its time on the way. finish() adds the parts that the sender knows. Until
/// then `held` is the time when the packet left, `retransmission` whether it was a copy, `acknowledgement` its number.
void Hosts::received(const Packet& last, const Receiver& all, Ps now) {
  PacketOutcome& o = traffic_.outcomes[last.flow];
  const Ps start = o.start.since_start().in_ps();
  const Ps paused = settings_.reports_load ? 0 : last.paused;
  o.parts.serialisation = Duration::ps(last.serial);
  o.parts.propagation = Duration::ps(last.travel - last.serial);
  o.parts.pause = Duration::ps(paused);
  o.parts.queueing = Duration::ps(now - last.sent - last.travel - paused);
  o.parts.held = Duration::ps(last.sent);
  o.parts.retransmission = Duration::ps((last.flags & kResent) != 0 ? 1 : 0);
  o.parts.acknowledgement = Duration::ps(last.seq);
  o.received = Duration::ps(now - start);
  // Where no packet waited, the slowest wire of its way sets its time.
  const std::uint32_t slowest = wiring_.route(traffic_.routes[last.flow]).slowest;
  o.held_by = wiring_.wires()[all.worst_wait > 0 ? all.worst : slowest].link;
  out_.received = std::max(out_.received, o.start + o.received);
  end_in_block(last.flow, last.wire, now);
  trigger(last.flow, program::FlowTrigger::kReceived, now);
}

void Hosts::finish(std::uint32_t slot, Ps now) {
  Sender& s = senders_[slot];
  PacketOutcome& o = traffic_.outcomes[s.flow];
  const Ps start = o.start.since_start().in_ps(), left = o.parts.held.in_ps();
  const bool again = o.parts.retransmission > Duration() && left >= s.new_done;
  const std::uint32_t first_wire = wiring_.outlets().values[outlets_[leg(s.flow, false).outlet].first_wire];
  const Port& port = network_->port(first_wire);
  const Ps before = again ? s.packets - 1 : o.parts.acknowledgement.in_ps();
  const Ps waited = (again ? s.new_done : left) - start;
  const Ps streaming = std::min(waited, before * network_->speed(port).transfer(settings_.payload + settings_.header));
  o.parts.serialisation = o.parts.serialisation + Duration::ps(streaming);
  o.parts.held = Duration::ps(waited - streaming);
  o.parts.retransmission = Duration::ps(again ? left - s.new_done : 0);
  s.done = true;
  ++finished_;
  o.fct = Duration::ps(now) - o.start.since_start();
  o.parts.acknowledgement = o.fct - o.received;
  o.done = true;
  out_.end = std::max(out_.end, o.start + o.fct);
  if (settings_.log != nullptr) settings_.log->note(now, s.flow, PacketEvent::kEnded, s.packets);
  trigger(s.flow, program::FlowTrigger::kAcked, now);
}

}  // namespace busbar::packet
