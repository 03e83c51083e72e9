#include "busbar/packet/internal/receiving.h"

#include "busbar/packet/internal/bits.h"

namespace busbar::packet {

std::uint32_t Receiving::take_receiver(std::uint32_t flow) {
  auto slot = static_cast<std::uint32_t>(receivers_.size());
  if (free_.empty()) {
    receivers_.emplace_back();
    got_.resize(got_.size() + words_);
  } else {
    slot = free_.back();
    free_.pop_back();
    receivers_[slot] = Receiver{};
    std::fill_n(got(slot), words_, 0);
  }
  run_.traffic.receiver_of[flow] = slot;
  Receiver& r = receivers_[slot];
  r.flow = flow;
  r.packets = run_.packets_of(flow);
  r.hash = run_.hash_of(flow);
  return slot;
}

/// All has arrived: later packets are answered without state.
void Receiving::let_go(std::uint32_t slot) {
  const Receiver& r = receivers_[slot];
  if (r.total < r.packets || r.queued) return;
  run_.traffic.receiver_of[r.flow] = kOver;
  free_.push_back(slot);
}

void Receiving::foresee(std::uint32_t slot) const {
  const auto* at = reinterpret_cast<const char*>(&receivers_[slot]);
  for (std::size_t i = 0; i < sizeof(Receiver); i += 64) prefetch_to_write(at + i);
  prefetch_to_write(&got_[std::size_t{slot} * words_]);
}

void Receiving::take_data(Id id, Ps now) {
  const Packet p = run_.take(id);
  std::uint32_t slot = run_.traffic.receiver_of[p.flow];
  if (slot == kOver) [[unlikely]]
    return answer_again(p, now);
  if (slot == kNone32) slot = take_receiver(p.flow);
  Receiver& r = receivers_[slot];
  const bool asks = (p.flags & kAskAck) != 0;
  if (asks && p.seq + 1 != r.packets) r.asked = std::max(r.asked, p.sent);  // all of it will be answered anyway
  if (p.flags & kTrimmed && p.seq == kNone32) return answer(slot, p, Kind::kAck, now);
  if (p.flags & kTrimmed) {
    if (run_.settings.grants) ++r.trims;
    ++r.trimmed;
    answer(slot, p, Kind::kNack, now);
  } else {
    if (run_.settings.recovery != Recovery::kTrimming && !report_gap(slot, p, now)) return;
    take_payload(slot, p, asks, now);
    if (r.total == r.packets) return let_go(slot);
  }
  if (run_.settings.grants && r.total < r.packets) want_pull(slot, now);
}

void Receiving::take_payload(std::uint32_t slot, const Packet& p, bool asks, Ps now) {
  Receiver& r = receivers_[slot];
  const bool fresh = note_arrived(slot, p, now);
  ++r.unanswered;
  if (p.flags & kMarked) ++r.marked;
  r.load = p.paused;
  if (!fresh || r.total == r.packets || r.trimmed > 0 || asks || p.sent <= r.asked ||
      r.unanswered >= run_.settings.packets_per_ack)
    answer(slot, p, Kind::kAck, now);
}

/// Whether the packet is new.
bool Receiving::note_arrived(std::uint32_t slot, const Packet& p, Ps now) {
  Receiver& r = receivers_[slot];
  std::uint64_t* bits = got(slot);
  const bool fresh = p.seq >= r.all_before && !test(bits, words_, p.seq);
  if (run_.settings.log != nullptr) [[unlikely]]
    run_.settings.log->note(now, p.flow, PacketEvent::kReceived, p.seq);
  if (!fresh) return false;
  set(bits, words_, p.seq);
  ++r.total;
  ++run_.delivered;
  if (p.worst_wait > r.worst_wait) r.worst_wait = p.worst_wait, r.worst = p.worst;
  if (p.flags & kResent && r.trimmed > 0) --r.trimmed;
  while (test(bits, words_, r.all_before)) clear(bits, words_, r.all_before++);
  if (r.total == r.packets) received(p, r, now);
  return true;
}

/// Handles skipped packet numbers, on paths that keep the order. False: the packet must be discarded.
bool Receiving::report_gap(std::uint32_t slot, const Packet& data, Ps now) {
  if (run_.settings.recovery == Recovery::kGoBack) return report_first(slot, data, now);
  Packet gone = data;
  const std::uint32_t highest = receivers_[slot].highest;
  receivers_[slot].highest = std::max(highest, data.seq + 1);
  for (gone.seq = highest; gone.seq < data.seq; ++gone.seq) {
    ++receivers_[slot].trimmed;
    answer(slot, gone, Kind::kNack, now);
  }
  return true;
}

/// The same where receivers keep no later packets.
bool Receiving::report_first(std::uint32_t slot, const Packet& data, Ps now) {
  Receiver& r = receivers_[slot];
  if (data.seq <= r.all_before) {
    r.reported = false;
    return true;
  }
  if (r.reported) return false;
  r.reported = true;
  Packet first = data;
  first.seq = r.all_before;
  answer(slot, first, Kind::kNack, now);
  return false;
}

/// An arrival has freed room on the path: its sender may send one more, in turn with the host's other senders.
void Receiving::want_pull(std::uint32_t slot, Ps now) {
  Receiver& r = receivers_[slot];
  const std::uint32_t outlet = run_.leg(r.flow, true).outlet;
  const std::uint32_t window = run_.settings.first_window(run_.wiring.width(run_.leg(r.flow, false).outlet));
  if (window + r.pulled + r.wanted >= r.packets + r.trims) return;  // the rest is already under way
  ++r.wanted;
  if (r.queued) return;
  r.queued = true;
  Pulls& o = pulls_[outlet];
  o.ring.push(receivers_, slot);
  if (!o.armed) arm(outlet, std::max(now, o.next));
}

void Receiving::arm(std::uint32_t outlet, Ps at) {
  pulls_[outlet].armed = true;
  run_.events.push(run_.source_of_pull(outlet), at);
}

void Receiving::pull(std::uint32_t outlet, Ps now) {
  Pulls& o = pulls_[outlet];
  const std::uint32_t slot = o.ring.pop(receivers_);
  Receiver& r = receivers_[slot];
  o.armed = false;
  r.queued = false;
  const auto wires = run_.wiring.outlets().row(outlet);
  const Speed& speed = run_.network->speed(run_.network->port(wires.front()));
  o.next = now + speed.transfer(static_cast<std::uint32_t>(run_.settings.control.packet_bytes)) /
                     static_cast<std::uint32_t>(wires.size());
  if (r.total < r.packets) {
    grant(r, outlet, now);
    if (r.wanted > 0) {
      --r.wanted;  // want_pull() counts it again, at the end of the ring
      want_pull(slot, now);
    }
  } else {
    let_go(slot);
  }
  if (!o.ring.empty() && !o.armed) arm(outlet, o.next);
}

void Receiving::grant(Receiver& r, std::uint32_t outlet, Ps now) {
  --r.wanted;
  ++r.pulled;
  const Id id = run_.pool.take();
  Packet& p = run_.pool[id];
  p = Packet{};
  p.kind = Kind::kPull;
  p.flow = r.flow;
  p.seq = r.pulled;
  p.size = static_cast<std::uint16_t>(run_.settings.header);
  p.hash = (r.hash & ~63u) | (r.pulled * kPathStep & 63);
  p.time = now;
  sending_.send_control(outlet, id, now);
}

void Receiving::answer(std::uint32_t slot, const Packet& data, Kind kind, Ps now) {
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
void Receiving::answer_again(const Packet& data, Ps now) {
  Receiver r;
  r.flow = data.flow;
  r.hash = run_.hash_of(data.flow);
  r.all_before = r.total = run_.packets_of(data.flow);
  const bool trimmed = (data.flags & kTrimmed) != 0 && data.seq != kNone32;
  if (!trimmed) {
    r.load = data.paused;
    r.marked = (data.flags & kMarked) != 0 ? 1 : 0;
  }
  send_answer(r, data, trimmed ? Kind::kNack : Kind::kAck, r.all_before, 0, now);
}

/// `there`: one bit for each of 64 packets from `first` on, set if it has arrived.
void Receiving::send_answer(const Receiver& r, const Packet& data, Kind kind, std::uint32_t first, std::uint64_t there,
                            Ps now) {
  const Id id = run_.pool.take();
  Packet& p = run_.pool[id];
  p = Packet{};
  p.kind = kind;
  p.flow = r.flow;
  p.size = static_cast<std::uint16_t>(run_.settings.header);
  p.sent = data.sent;
  p.worst_wait = data.hash;
  p.hash = run_.settings.spray ? (r.hash & ~63u) | (data.hash & 63) : r.hash;  // copies come by other paths
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
    ++run_.out.acks;
  } else {
    p.seq = data.seq;
    ++run_.out.nacks;
  }
  sending_.send_control(run_.leg(r.flow, true).outlet, id, now);
}

/// The last byte has arrived: the parts of its time on the way. Sending::finish() adds the parts that the sender knows.
/// Until then `held` is the time when the packet left, `retransmission` whether it was a copy, `acknowledgement` its
/// number.
void Receiving::received(const Packet& last, const Receiver& all, Ps now) {
  PacketOutcome& o = run_.traffic.outcomes[last.flow];
  const Ps start = o.start.since_start().in_ps();
  const Ps paused = run_.settings.reports_load ? 0 : last.paused;
  o.parts.serialisation = Duration::ps(last.serial);
  o.parts.propagation = Duration::ps(last.travel - last.serial);
  o.parts.pause = Duration::ps(paused);
  o.parts.queueing = Duration::ps(now - last.sent - last.travel - paused);
  o.parts.held = Duration::ps(last.sent);
  o.parts.retransmission = Duration::ps((last.flags & kResent) != 0 ? 1 : 0);
  o.parts.acknowledgement = Duration::ps(last.seq);
  o.received = Duration::ps(now - start);
  // Where no packet waited, the slowest wire of its way sets its time.
  const std::uint32_t slowest = run_.wiring.route(run_.traffic.routes[last.flow]).slowest;
  o.held_by = run_.wiring.wires()[all.worst_wait > 0 ? all.worst : slowest].link;
  run_.out.received = std::max(run_.out.received, o.start + o.received);
  run_.end_in_block(last.flow, last.wire, now);
  run_.trigger(last.flow, program::FlowTrigger::kReceived, now);
}

}  // namespace busbar::packet
