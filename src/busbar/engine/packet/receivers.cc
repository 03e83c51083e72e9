// The receiving side: what has arrived, what is answered, which sender may send more, and where the time of a flow
// went.
#include "busbar/engine/packet/bits.h"
#include "busbar/engine/packet/hosts.h"

namespace busbar::packet {

void Hosts::take_data(Id id, Ps now) {
  const Packet p = pool_[id];
  const std::uint32_t slot = p.flow;
  if (settings_.control.algorithm == Algorithm::kCredit && p.flags & kTrimmed) ++receivers_[slot].trims;
  Receiver& r = receivers_[slot];
  if (p.flags & kTrimmed) {
    ++r.trimmed;
    answer(slot, p, Kind::kNack, now);
  } else {
    if (settings_.recovery != Recovery::kTrimming && !report_gap(slot, p, now)) {
      pool_.give(id);
      return let_go(slot);
    }
    std::uint64_t* bits = got(slot);
    const bool fresh = p.seq >= r.all_before && !test(bits, words_, p.seq);
    if (fresh) {
      set(bits, words_, p.seq);
      ++r.total;
      ++delivered_;
      if (p.flags & kResent && r.trimmed > 0) --r.trimmed;
      while (test(bits, words_, r.all_before)) clear(bits, words_, r.all_before++);
      if (r.total == senders_[slot].packets) received(slot, p, now);
    }
    ++r.unanswered;
    if (p.flags & kMarked) ++r.marked;
    r.load = p.paused;
    const bool all = r.total == senders_[slot].packets;
    if (!fresh || all || r.trimmed > 0 || p.flags & kAskAck || r.unanswered >= settings_.packets_per_ack) {
      answer(slot, p, Kind::kAck, now);
    }
  }
  if (settings_.control.algorithm == Algorithm::kCredit && r.total < senders_[slot].packets) want_pull(slot, now);
  pool_.give(id);
  let_go(slot);
}

/// Sees to numbers that were passed over, on paths that keep the order. False: the packet is not to be kept.
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

/// An arrival has made room on the way: its sender may send one more, when its turn among this host's senders comes.
void Hosts::want_pull(std::uint32_t slot, Ps now) {
  Receiver& r = receivers_[slot];
  const Sender& s = senders_[slot];
  if (first_window(s) + r.pulled + r.wanted >= s.packets + r.trims) return;  // all is under way
  ++r.wanted;
  if (r.queued) return;
  r.queued = true;
  r.ring_next = kNobody;
  const std::uint32_t outlet = legs_[2 * slot + 1].outlet;
  Outlet& o = outlets_[outlet];
  if (o.pull_head == kNobody) {
    o.pull_head = slot;
  } else {
    receivers_[o.pull_tail].ring_next = slot;
  }
  o.pull_tail = slot;
  ++senders_[slot].live;  // the ring names it
  if (o.pulling) return;
  o.pulling = true;
  events_.push(first_source() + static_cast<std::uint32_t>(outlets_.size()) + outlet, std::max(now, o.next_pull));
}

/// Grants one packet to the sender whose turn it is: as many as the host's wire takes, and no more.
void Hosts::pull(std::uint32_t outlet, Ps now) {
  Outlet& o = outlets_[outlet];
  const std::uint32_t slot = o.pull_head;
  Receiver& r = receivers_[slot];
  o.pull_head = r.ring_next;
  o.pulling = false;
  r.queued = false;
  const std::uint32_t wire = wiring_.outlets().values[o.first_wire];
  o.next_pull =
      now + network_->port(wire).transfer(static_cast<std::uint32_t>(settings_.control.packet_bytes)) / o.wires;
  const bool done = senders_[slot].done;
  if (!done) {
    --r.wanted;
    ++r.pulled;
    const Id id = pool_.take();
    Packet& p = pool_[id];
    p = Packet{};
    p.kind = Kind::kPull;
    p.flow = slot;
    p.seq = r.pulled;
    p.size = static_cast<std::uint16_t>(settings_.header);
    p.hash = (senders_[slot].hash & ~63u) | (r.pulled * kPathStep & 63);
    p.time = now;
    ++senders_[slot].live;
    settle(outlet, now);
    outlets_[outlet].control.push(pool_, id);
    kick(outlet, now);
    if (r.wanted > 0) {
      --r.wanted;  // want_pull() counts it again, at the end of the ring
      want_pull(slot, now);
    }
  }
  Outlet& after = outlets_[outlet];
  if (after.pull_head != kNobody && !after.pulling) {
    after.pulling = true;
    events_.push(first_source() + static_cast<std::uint32_t>(outlets_.size()) + outlet, after.next_pull);
  }
  let_go(slot);
}

void Hosts::answer(std::uint32_t slot, const Packet& data, Kind kind, Ps now) {
  Receiver& r = receivers_[slot];
  const Id id = pool_.take();
  Packet& p = pool_[id];
  p = Packet{};
  p.kind = kind;
  p.flow = slot;
  p.size = static_cast<std::uint16_t>(settings_.header);
  p.sent = data.sent;
  p.worst_wait = data.hash;
  p.hash = settings_.spray ? (senders_[slot].hash & ~63u) | (data.seq * kPathStep & 63) : senders_[slot].hash;
  p.time = now;
  p.flags = data.flags & kMarked;
  p.serial = r.total;
  p.paused = r.load;
  p.worst = r.marked;
  if (kind == Kind::kAck) {
    p.seq = r.all_before;
    const std::uint64_t* bits = got(slot);
    const std::uint32_t word = r.all_before >> 6 & (words_ - 1), shift = r.all_before & 63;
    std::uint64_t next = bits[word] >> shift;
    if (shift != 0) next |= bits[(word + 1) & (words_ - 1)] << (64 - shift);
    p.travel = static_cast<Ps>(next);
    ++out_.acks;
  } else {
    p.seq = data.seq;
    ++out_.nacks;
  }
  r.unanswered = r.marked = 0;
  ++senders_[slot].live;
  const std::uint32_t outlet = legs_[2 * slot + 1].outlet;
  settle(outlet, now);
  outlets_[outlet].control.push(pool_, id);
  kick(outlet, now);
}

/// The last byte is there: where the time went so far.
void Hosts::received(std::uint32_t slot, const Packet& last, Ps now) {
  const Sender& s = senders_[slot];
  PacketOutcome& o = out_.flows[s.flow];
  const Ps start = o.start.since_start().in_ps();
  const bool again = (last.flags & kResent) != 0 && last.sent >= s.new_done && s.next == s.packets;
  const std::uint32_t first_wire = wiring_.outlets().values[outlets_[legs_[2 * slot].outlet].first_wire];
  const Port& port = network_->port(first_wire);
  const std::uint32_t before = again ? s.packets - 1 : last.seq;
  const Ps waited = (again ? s.new_done : last.sent) - start;
  const Ps streaming = std::min(waited, before * port.transfer(settings_.payload + settings_.header));
  const Ps paused = settings_.control.algorithm == Algorithm::kHpcc ? 0 : last.paused;
  o.parts.serialisation = Duration::ps(streaming + last.serial);
  o.parts.propagation = Duration::ps(last.travel - last.serial);
  o.parts.pause = Duration::ps(paused);
  o.parts.queueing = Duration::ps(now - last.sent - last.travel - paused);
  o.parts.held = Duration::ps(waited - streaming);
  o.parts.retransmission = Duration::ps(again ? last.sent - s.new_done : 0);
  o.received = Duration::ps(now - start);
  if (last.worst_wait > 0) o.held_by = wiring_.wires()[last.worst].link;
  out_.received = std::max(out_.received, o.start + o.received);
  if (!block_of_.empty() && --left_in_block_[block_of_[s.flow]] == 0) ended_blocks_.push_back(block_of_[s.flow]);
  trigger(s.flow, FlowTrigger::kReceived, now);
}

void Hosts::finish(std::uint32_t slot, Ps now) {
  Sender& s = senders_[slot];
  PacketOutcome& o = out_.flows[s.flow];
  s.done = true;
  ++finished_;
  o.fct = Duration::ps(now) - o.start.since_start();
  o.parts.acknowledgement = o.fct - o.received;
  o.done = true;
  out_.resent += o.resent;
  out_.end = std::max(out_.end, o.start + o.fct);
  trigger(s.flow, FlowTrigger::kAcked, now);
}

}  // namespace busbar::packet
