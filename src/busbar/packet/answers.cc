// The sending side: what it does when answers come, or do not come.
#include <bit>

#include "busbar/packet/internal/bits.h"
#include "busbar/packet/internal/hosts.h"

namespace busbar::packet {

void Hosts::take_pull(Id id, Ps now) {
  const Packet p = pool_[id];
  pool_.give(id);
  const std::uint32_t slot = traffic_.sender_of[p.flow];
  if (slot == kOver || senders_[slot].done) return;
  Sender& s = senders_[slot];
  const std::uint32_t outlet = leg(p.flow, false).outlet;
  settle(outlet, now);
  s.granted = std::max(s.granted, first_window(s.wires) + p.seq);
  s.clock = now;
  offer(slot, now);
  kick(outlet, now);
}

/// The number of packets that have newly arrived.
std::uint32_t Hosts::count_new(Sender& s, std::uint32_t total) {
  const std::uint32_t fresh = total > s.acked ? total - s.acked : 0;
  s.acked += fresh;
  s.outstanding -= std::min(fresh, s.outstanding);
  return fresh;
}

void Hosts::take_ack(Id id, Ps now) {
  const Packet p = pool_[id];
  pool_.give(id);
  const std::uint32_t slot = traffic_.sender_of[p.flow];
  if (slot == kOver || senders_[slot].done) return;
  Sender& s = senders_[slot];
  const std::uint32_t outlet = leg(p.flow, false).outlet;
  settle(outlet, now);
  const std::uint32_t fresh = count_new(s, p.serial);
  s.clock = now;
  std::uint64_t *bits = known(slot), *gone = missing(slot);
  for (; s.all_before < p.seq; ++s.all_before) {
    clear(bits, words_, s.all_before);
    if (s.lost > 0 && test(gone, words_, s.all_before)) {
      clear(gone, words_, s.all_before);
      --s.lost;
    }
  }
  if (p.seq == s.all_before) {
    note_beyond(slot, p.seq + (p.worst >> 16), static_cast<std::uint64_t>(p.travel));
    if (settings_.gap_packets > 0) find_gaps(slot, p.serial - p.seq, now);
  }
  AckReport report;
  report.now = now;
  report.bytes = fresh * settings_.control.packet_bytes;
  report.delay = std::max<Ps>(0, now - p.sent - s.control.base_rtt);
  report.marked = (p.worst & 0xffff) * settings_.control.packet_bytes;
  report.last_marked = (p.flags & kMarked) != 0;
  report.load = p.paused * 0x1p-20;
  report.in_flight = s.outstanding * settings_.control.packet_bytes;
  report.next = s.next;
  report.all_before = s.all_before;
  if (!(p.flags & kAskAck))
    note_path(slot, p.worst_wait & 63, report.last_marked ? PathReport::kMarked : PathReport::kClean);
  if (!(p.flags & kAskAck)) on_ack(s.control, settings_.control, report);
  if (settings_.log != nullptr) [[unlikely]]
    settings_.log->note(now, s.flow, PacketEvent::kAcked, p.seq, s.control.window * s.wires);
  if (s.acked == s.packets) {
    finish(slot, now);
    let_go_sender(slot);
  } else {
    offer(slot, now);
    ask(slot, now);
  }
  kick(outlet, now);
}

/// A window that has shrunk may not let the sender go on until packets are answered that asked for no answer, and
/// receivers answer several at a time. So it sends a header that asks.
void Hosts::ask(std::uint32_t slot, Ps now) {
  Sender& s = senders_[slot];
  if (!s.unasked || s.outstanding == 0 || s.queued || s.done || !needs_answer(slot)) return;
  s.unasked = false;
  const Id id = pool_.take();
  Packet& p = pool_[id];
  p = Packet{};
  p.flow = s.flow;
  p.flags = kTrimmed | kAskAck;
  p.seq = kNone32;
  p.size = static_cast<std::uint16_t>(settings_.header);
  p.hash = next_path(slot);
  p.sent = p.time = now;
  ++out_.asks;
  outlets_[leg(s.flow, false).outlet].control.push(pool_, id);
}

/// `there` has one bit for each of 64 packets from `first` on. Those that have arrived need not be sent again.
void Hosts::note_beyond(std::uint32_t slot, std::uint32_t first, std::uint64_t there) {
  Sender& s = senders_[slot];
  std::uint64_t *bits = known(slot), *gone = missing(slot);
  if (there != 0) s.seen = std::max(s.seen, first + 64 - static_cast<std::uint32_t>(std::countl_zero(there)));
  for (; there != 0; there &= there - 1) {
    const std::uint32_t seq = first + static_cast<std::uint32_t>(std::countr_zero(there));
    set(bits, words_, seq);
    if (s.lost == 0 || !test(gone, words_, seq)) continue;
    clear(gone, words_, seq);
    --s.lost;
  }
}

void Hosts::take_nack(Id id, Ps now) {
  const Packet p = pool_[id];
  pool_.give(id);
  const std::uint32_t slot = traffic_.sender_of[p.flow];
  if (slot == kOver) return;
  Sender& s = senders_[slot];
  if (s.done || p.seq < s.all_before || test(missing(slot), words_, p.seq)) return;
  const std::uint32_t outlet = leg(p.flow, false).outlet;
  settle(outlet, now);
  s.clock = now;
  count_new(s, p.serial);
  if (settings_.recovery == Recovery::kGoBack) {
    go_back(slot, p.seq);
  } else {
    give_up(slot, p.seq);
    if (s.outstanding > 0) --s.outstanding;
  }
  note_path(slot, p.worst_wait & 63, PathReport::kTrimmed);
  on_loss(s.control, settings_.control, now, wire_size(s, p.seq), s.outstanding * settings_.control.packet_bytes);
  if (settings_.log != nullptr) [[unlikely]]
    settings_.log->note(now, s.flow, PacketEvent::kNacked, p.seq, s.control.window * s.wires);
  offer(slot, now);
  ask(slot, now);
  kick(outlet, now);
}

/// The packet must be sent again.
void Hosts::give_up(std::uint32_t slot, std::uint32_t seq) {
  if (test(missing(slot), words_, seq)) return;
  set(missing(slot), words_, seq);
  ++senders_[slot].lost;
}

/// Marks all packets from `seq` on to be sent again.
void Hosts::go_back(std::uint32_t slot, std::uint32_t seq) {
  for (; seq < senders_[slot].next; ++seq) give_up(slot, seq);
  senders_[slot].outstanding = 0;
}

/// Only packets in flight can be lost, and a flow that waits for its turn learns more when it has sent again.
/// `outstanding` is too small after late arrivals of packets that were given up. Grants are lost by faults only.
bool Hosts::timed_out(const Sender& s) const {
  if (s.queued) return false;
  return s.outstanding > 0 || s.next > s.acked + s.lost || (settings_.grants && settings_.faults > 0);
}

/// If no answer came for a long time, all packets in flight count as lost.
void Hosts::timer(std::uint32_t slot, Ps now) {
  Sender& s = senders_[slot];
  if (s.done) return;
  const std::uint32_t outlet = leg(s.flow, false).outlet;
  if (now - s.clock >= settings_.timeout) settle(outlet, now);  // it may have had its turn
  const bool silent = now - s.clock >= settings_.timeout;
  if (silent) ++silences_;
  if (silent && timed_out(s)) {
    s.clock = now;
    ++out_.timeouts;
    if (settings_.spray) note_path(slot, path_used(slot, s.all_before) & 63, PathReport::kLost);
    for (std::uint32_t seq = s.all_before; seq < s.next; ++seq)
      if (!test(known(slot), words_, seq)) give_up(slot, seq);
    s.outstanding = 0;
    s.granted = std::max(s.granted, s.sends + std::max(1u, s.lost));  // grants may be lost too
    on_timeout(s.control, settings_.control, now);
    if (settings_.log != nullptr)
      settings_.log->note(now, s.flow, PacketEvent::kTimeout, s.all_before, s.control.window * s.wires);
    offer(slot, now);
    kick(outlet, now);
  }
  events_.push(source_of(s.flow), (now - s.clock < settings_.timeout ? s.clock : now) + settings_.timeout);
}

}  // namespace busbar::packet
