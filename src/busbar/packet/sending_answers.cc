// What a sender does when answers come, or do not come.
#include "busbar/packet/internal/sending.h"

namespace busbar::packet {
namespace {

constexpr std::uint32_t kLeastGap = 8;  ///< packets

}  // namespace

/// The slot of a flow that waits for answers; kNone32 if it has them all.
std::uint32_t Sending::open_sender(std::uint32_t flow) const {
  const std::uint32_t slot = run_.traffic.sender_of[flow];
  return slot == kOver || senders_[slot].done ? kNone32 : slot;
}

void Sending::take_pull(Id id, Ps now) {
  const Packet p = run_.take(id);
  const std::uint32_t slot = open_sender(p.flow);
  if (slot == kNone32) return;
  Sender& s = senders_[slot];
  const std::uint32_t outlet = run_.leg(p.flow, false).outlet;
  settle(outlet, now);
  if (p.seq > s.pulls) {  // the receiver's count of all: later pulls make up for lost ones
    s.granted += p.seq - s.pulls;
    s.pulls = p.seq;
  }
  s.clock = now;
  offer(slot, now);
  kick(outlet, now);
}

void Sending::take_ack(Id id, Ps now) {
  const Packet p = run_.take(id);
  const std::uint32_t slot = open_sender(p.flow);
  if (slot == kNone32) return;
  Sender& s = senders_[slot];
  const std::uint32_t outlet = run_.leg(p.flow, false).outlet;
  settle(outlet, now);
  note_ack(slot, p, now);
  if (run_.settings.log != nullptr) [[unlikely]]
    run_.settings.log->note(now, s.flow, PacketEvent::kAcked, p.seq, s.control.window * s.wires);
  if (s.acked == s.packets) {
    finish(slot, now);
    let_go(slot);
  } else {
    offer(slot, now);
    ask(slot, now);
  }
  kick(outlet, now);
}

void Sending::note_ack(std::uint32_t slot, const Packet& ack, Ps now) {
  const ControlSettings& control = run_.settings.control;
  Sender& s = senders_[slot];
  const std::uint32_t fresh = Senders::count_new(s, ack.serial);
  s.clock = now;
  senders_.note_all_before(slot, ack.seq);
  if (ack.seq == s.all_before) {
    senders_.note_beyond(slot, ack.seq + (ack.worst >> 16), static_cast<std::uint64_t>(ack.travel));
    if (run_.settings.gap_packets > 0) find_gaps(slot, ack.serial - ack.seq, now);
  }
  if (ack.flags & kAskAck) return;  // it says nothing of the path of data
  AckReport report;
  report.now = now;
  report.bytes = fresh * control.packet_bytes;
  report.delay = std::max<Ps>(0, now - ack.sent - s.control.base_rtt);
  report.marked = (ack.worst & 0xffff) * control.packet_bytes;
  report.last_marked = (ack.flags & kMarked) != 0;
  report.load = ack.paused * 0x1p-20;
  report.in_flight = s.outstanding * control.packet_bytes;
  report.next = s.next;
  report.all_before = s.all_before;
  note_path(slot, ack.worst_wait & 63, report.last_marked ? PathReport::kMarked : PathReport::kClean);
  on_ack(s.control, control, report);
}

/// A window that has shrunk may not let the sender go on until packets are answered that asked for no answer, and
/// receivers answer several at a time. So it sends a header that asks.
void Sending::ask(std::uint32_t slot, Ps now) {
  Sender& s = senders_[slot];
  if (!s.unasked || s.outstanding == 0 || s.queued || s.done || !needs_answer(slot)) return;
  s.unasked = false;
  const Id id = run_.pool.take();
  Packet& p = run_.pool[id];
  p = Packet{};
  p.flow = s.flow;
  p.flags = kTrimmed | kAskAck;
  p.seq = kNone32;
  p.size = static_cast<std::uint16_t>(run_.settings.header);
  p.hash = next_path(slot);
  p.sent = p.time = now;
  ++run_.out.asks;
  outlets_[run_.leg(s.flow, false).outlet].control.push(run_.pool, id);
}

void Sending::take_nack(Id id, Ps now) {
  const HostSettings& settings = run_.settings;
  const Packet p = run_.take(id);
  const std::uint32_t slot = open_sender(p.flow);
  if (slot == kNone32) return;
  Sender& s = senders_[slot];
  if (p.seq < s.all_before || senders_.missing(slot, p.seq)) return;
  const std::uint32_t outlet = run_.leg(p.flow, false).outlet;
  settle(outlet, now);
  s.clock = now;
  Senders::count_new(s, p.serial);
  if (settings.recovery == Recovery::kGoBack) {
    senders_.go_back(slot, p.seq);
  } else {
    senders_.give_up(slot, p.seq);
    if (s.outstanding > 0) --s.outstanding;
  }
  note_path(slot, p.worst_wait & 63, PathReport::kTrimmed);
  on_loss(s.control, settings.control, now, wire_size(s, p.seq), s.outstanding * settings.control.packet_bytes);
  if (settings.log != nullptr) [[unlikely]]
    settings.log->note(now, s.flow, PacketEvent::kNacked, p.seq, s.control.window * s.wires);
  offer(slot, now);
  ask(slot, now);
  kick(outlet, now);
}

void Sending::lost_in_gap(std::uint32_t slot, std::uint32_t seq, Ps now) {
  const ControlSettings& control = run_.settings.control;
  Sender& s = senders_[slot];
  note_path(slot, paths_.used(slot, seq) & 63, PathReport::kLost);
  senders_.give_up(slot, seq);
  ++s.granted;  // its credit comes back to the sender
  if (s.outstanding > 0) --s.outstanding;
  on_loss(s.control, control, now, wire_size(s, seq), s.outstanding * control.packet_bytes);
}

/// Paths that reorder give no proof of a loss, but a packet that a window of later ones has overtaken is lost. Its copy
/// leaves about a window later, and is lost if three windows have overtaken it. `arrived`: packets after all_before
/// that have arrived.
void Sending::find_gaps(std::uint32_t slot, std::uint32_t arrived, Ps now) {
  const HostSettings& settings = run_.settings;
  Sender& s = senders_[slot];
  const auto window = static_cast<std::uint32_t>(s.control.window * s.wires / settings.control.packet_bytes);
  const std::uint32_t gap = std::clamp(window, kLeastGap, settings.gap_packets);
  if (arrived < gap) return;
  const auto open = [&](std::uint32_t seq) { return !senders_.arrived(slot, seq) && !senders_.missing(slot, seq); };
  if (s.all_before + 3 * settings.gap_packets < s.seen &&
      (paths_.used(slot, s.all_before) & SprayedPaths::kCopy) != 0 && open(s.all_before))
    lost_in_gap(slot, s.all_before, now);
  constexpr std::uint8_t kAgain = SprayedPaths::kCopy | SprayedPaths::kThird;
  for (std::uint32_t seq = std::max(s.all_before, s.gaps_before); seq + gap < s.seen; ++seq) {
    s.gaps_before = seq + 1;
    if ((paths_.used(slot, seq) & kAgain) == 0 && open(seq)) lost_in_gap(slot, seq, now);
  }
}

/// Only packets in flight can be lost, and a flow that waits for its turn learns more when it has sent again.
/// `outstanding` is too small after late arrivals of packets that were given up. Grants are lost by faults only.
bool Sending::timed_out(const Sender& s) const {
  if (s.queued) return false;
  return s.outstanding > 0 || s.next > s.acked + s.lost || (run_.settings.grants && run_.settings.faults > 0);
}

void Sending::timer(std::uint32_t slot, Ps now) {
  const Ps timeout = run_.settings.timeout;
  const Sender& s = senders_[slot];
  if (s.done) return;
  const std::uint32_t outlet = run_.leg(s.flow, false).outlet;
  if (now - s.clock >= timeout) settle(outlet, now);  // it may have had its turn
  const bool silent = now - s.clock >= timeout;
  if (silent) ++silences_;
  if (silent && timed_out(s)) {
    time_out(slot, now);
    offer(slot, now);
    kick(outlet, now);
  }
  run_.events.push(run_.source_of(s.flow), (now - s.clock < timeout ? s.clock : now) + timeout);
}

void Sending::time_out(std::uint32_t slot, Ps now) {
  const HostSettings& settings = run_.settings;
  Sender& s = senders_[slot];
  s.clock = now;
  ++run_.out.timeouts;
  if (settings.spray) note_path(slot, paths_.used(slot, s.all_before) & 63, PathReport::kLost);
  senders_.give_up_flight(slot);
  s.granted = std::max(s.granted, s.sends + std::max(1u, s.lost));  // grants may be lost too
  on_timeout(s.control, settings.control, now);
  if (settings.log != nullptr)
    settings.log->note(now, s.flow, PacketEvent::kTimeout, s.all_before, s.control.window * s.wires);
}

/// The last acknowledgement is there: adds the parts of the flow's time that the sender knows.
void Sending::finish(std::uint32_t slot, Ps now) {
  Sender& s = senders_[slot];
  PacketOutcome& o = run_.traffic.outcomes[s.flow];
  const Ps start = o.start.since_start().in_ps(), left = o.parts.held.in_ps();
  const bool again = o.parts.retransmission > Duration() && left >= s.new_done;
  const std::uint32_t outlet = run_.leg(s.flow, false).outlet;
  const Port& port = run_.network->port(run_.wiring.outlets().row(outlet).front());
  const Ps before = again ? s.packets - 1 : o.parts.acknowledgement.in_ps();
  const Ps waited = (again ? s.new_done : left) - start;
  const Ps streaming = std::min(waited, before * run_.network->speed(port).transfer(run_.settings.full()));
  o.parts.serialisation = o.parts.serialisation + Duration::ps(streaming);
  o.parts.held = Duration::ps(waited - streaming);
  o.parts.retransmission = Duration::ps(again ? left - s.new_done : 0);
  s.done = true;
  ++run_.finished;
  o.fct = Duration::ps(now) - o.start.since_start();
  o.parts.acknowledgement = o.fct - o.received;
  o.done = true;
  run_.out.end = std::max(run_.out.end, o.start + o.fct);
  if (run_.settings.log != nullptr) run_.settings.log->note(now, s.flow, PacketEvent::kEnded, s.packets);
  run_.trigger(s.flow, program::FlowTrigger::kAcked, now);
}

}  // namespace busbar::packet
