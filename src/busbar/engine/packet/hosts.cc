#include "busbar/engine/packet/hosts.h"

#include <bit>

namespace busbar::packet {
namespace {

constexpr std::uint32_t kPathStep = 37;  ///< odd, so that all 64 paths have their turn; neighbours lie far apart

bool test(const std::uint64_t* bits, std::uint32_t words, std::uint32_t seq) {
  return bits[seq >> 6 & (words - 1)] >> (seq & 63) & 1;
}
void set(std::uint64_t* bits, std::uint32_t words, std::uint32_t seq) {
  bits[seq >> 6 & (words - 1)] |= std::uint64_t{1} << (seq & 63);
}
void clear(std::uint64_t* bits, std::uint32_t words, std::uint32_t seq) {
  bits[seq >> 6 & (words - 1)] &= ~(std::uint64_t{1} << (seq & 63));
}

}  // namespace

Hosts::Hosts(const Wiring& wiring, Pool& pool, EventQueue& events, const HostSettings& settings, const FlowList& list,
             std::span<const std::uint32_t> routes, PacketResult& out)
    : wiring_(wiring), pool_(pool), events_(events), settings_(settings), list_(list), routes_(routes), out_(out) {
  const auto n = static_cast<std::uint32_t>(list.flows.size());
  const auto window = static_cast<std::uint32_t>(settings.control.max_window / settings.control.packet_bytes) + 1;
  words_ = std::bit_ceil(std::max(4u, 2 * window / 64 + 1));
  out_.flows.resize(n);
  successors_ = successors_of(list);
  for (std::uint32_t f = 0; f < n; ++f) {
    waits_for_.push_back(static_cast<std::uint32_t>(list.after.row(f).size()));
    ready_.push_back(list.flows[f].start.since_start().in_ps());
  }
  const Csr<std::uint32_t>& outlets = wiring.outlets();
  outlet_of_.assign(wiring.wires().size(), kNobody);
  for (std::uint32_t o = 0; o < outlets.rows(); ++o) {
    Outlet outlet;
    outlet.first_wire = outlets.begin[o];
    outlet.wires = static_cast<std::uint32_t>(outlets.row(o).size());
    for (const std::uint32_t w : outlets.row(o)) outlet_of_[w] = o;
    outlets_.push_back(outlet);
  }
  events_.reserve(first_source() + outlets.rows() + n);
}

void Hosts::join(Network<Hosts>& network) { network_ = &network; }

void Hosts::take_event(std::uint32_t source, Ps now) {
  std::uint32_t n = source - first_source();
  if (n < outlets_.size()) return wake(n, now);
  n -= static_cast<std::uint32_t>(outlets_.size());
  if (n < routes_.size()) return start(n, now);
  timer(n - static_cast<std::uint32_t>(routes_.size()), now);
}

void Hosts::begin() {
  for (std::uint32_t f = 0; f < waits_for_.size(); ++f)
    if (waits_for_[f] == 0) trigger_start(f);
}

/// Makes an event of the start, which may be now.
void Hosts::trigger_start(std::uint32_t flow) {
  events_.push(first_source() + static_cast<std::uint32_t>(outlets_.size()) + flow, ready_[flow]);
}

void Hosts::trigger(std::uint32_t flow, FlowTrigger what, Ps now) {
  for (const std::uint32_t next : successors_.row(flow)) {
    if (list_.flows[next].trigger != what) continue;
    ready_[next] = std::max(ready_[next], now);
    if (--waits_for_[next] == 0) trigger_start(next);
  }
}

std::uint32_t Hosts::take_slot() {
  if (!free_.empty()) {
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    std::fill_n(got(slot), 3 * words_, 0);
    return slot;
  }
  const auto slot = static_cast<std::uint32_t>(senders_.size());
  senders_.emplace_back();
  receivers_.emplace_back();
  legs_.resize(legs_.size() + 2);
  bits_.resize(bits_.size() + 3 * words_);
  return slot;
}

/// One record that names the slot is gone.
void Hosts::let_go(std::uint32_t slot) {
  if (--senders_[slot].live == 0) free_.push_back(slot);
}

void Hosts::start(std::uint32_t flow, Ps now) {
  const std::uint32_t slot = take_slot();
  const Route& route = wiring_.route(routes_[flow]);
  legs_[2 * slot] = route.forth;
  legs_[2 * slot + 1] = route.back;
  Sender& s = senders_[slot];
  s = Sender{};
  receivers_[slot] = Receiver{};
  s.flow = flow;
  s.packets = static_cast<std::uint32_t>(
      std::max<std::uint64_t>(1, (count(list_.flows[flow].bytes) + settings_.payload - 1) / settings_.payload));
  s.hash = static_cast<std::uint32_t>(mix64(settings_.seed ^ mix64(flow)));
  s.path = s.hash >> 26;
  s.last_news = now;
  s.live = 1;  // its timer
  const std::uint32_t full = settings_.payload + settings_.header;
  const std::uint32_t size = std::min(full, wire_size(s, 0));
  busbar::packet::begin(s.control, settings_.control, now,
                        wiring_.idle_time(routes_[flow], size) + wiring_.idle_time(routes_[flow], settings_.header));
  out_.flows[flow].start = SimTime::at(Duration::ps(now));
  const std::uint32_t clock = timer_source(slot);
  events_.reserve(clock + 1);
  events_.push(clock, now + settings_.timeout);
  settle(route.forth.outlet, now);
  offer(slot, now);
  kick(route.forth.outlet, now);
}

std::uint32_t Hosts::wire_size(const Sender& s, std::uint32_t seq) const {
  if (seq + 1 < s.packets) return settings_.payload + settings_.header;
  const std::uint64_t before = std::uint64_t{seq} * settings_.payload;
  return static_cast<std::uint32_t>(count(list_.flows[s.flow].bytes) - before) + settings_.header;
}

bool Hosts::may_send(std::uint32_t slot) const {
  const Sender& s = senders_[slot];
  if (s.lost == 0 && (s.next == s.packets || s.next - s.all_before >= window_packets())) return false;
  return s.outstanding == 0 || (s.outstanding + 1) * settings_.control.packet_bytes <= s.control.window;
}

/// Lets a flow take its turn at its outlet, if it may send and does not wait there already.
void Hosts::offer(std::uint32_t slot, Ps now) {
  Sender& s = senders_[slot];
  if (s.queued || s.done || !may_send(slot)) return;
  Outlet& o = outlets_[legs_[2 * slot].outlet];
  s.queued = true;
  if (s.control.next_send > now) {
    o.paced.emplace_back(s.control.next_send, slot);
    std::push_heap(o.paced.begin(), o.paced.end(), std::greater<>());
    return;
  }
  s.ring_next = kNobody;
  if (o.head == kNobody) {
    o.head = slot;
  } else {
    senders_[o.tail].ring_next = slot;
  }
  o.tail = slot;
}

/// The wire of an outlet that is free first.
std::uint32_t Hosts::free_wire(const Outlet& o) const {
  const auto& wires = wiring_.outlets().values;
  std::uint32_t best = wires[o.first_wire];
  for (std::uint32_t i = 1; i < o.wires; ++i) {
    const std::uint32_t w = wires[o.first_wire + i];
    if (network_->port(w).busy < network_->port(best).busy) best = w;
  }
  return best;
}

/// When the outlet sends next over that port if nothing changes; kNever when it has nothing to send.
Ps Hosts::next_start(const Outlet& o, const Port& port) const {
  if (!o.control.empty()) return port.busy;
  if (port.stopped) return kNever;
  if (o.head != kNobody) return port.busy;
  return o.paced.empty() ? kNever : std::max(port.busy, o.paced.front().first);
}

/// Sends everything whose turn came before `now`.
void Hosts::settle(std::uint32_t outlet, Ps now) {
  for (;;) {
    const std::uint32_t wire = free_wire(outlets_[outlet]);
    const Ps at = next_start(outlets_[outlet], network_->port(wire));
    if (at >= now) return;
    send_one(outlet, wire, at);
  }
}

/// After a change at `now`, the past being settled: sends what can leave at once and sees to the rest later.
void Hosts::kick(std::uint32_t outlet, Ps now) {
  for (;;) {
    const std::uint32_t wire = free_wire(outlets_[outlet]);
    const Port& port = network_->port(wire);
    const Ps at = next_start(outlets_[outlet], port);
    if (at == kNever) return;
    if (at <= now) {
      send_one(outlet, wire, now);
      continue;
    }
    Outlet& o = outlets_[outlet];
    if (o.armed || !port.flying.empty()) return;  // whichever comes first sees to it: the event, or the wire run dry
    o.armed = true;
    return events_.push(first_source() + outlet, at);
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
  const std::uint32_t outlet = outlet_of_[wire];
  settle(outlet, now);
  outlets_[outlet].control.push_front(pool_, id);
  kick(outlet, now);
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

/// ECMP: one hash per flow. Spraying: the next of 64, without those that were marked.
std::uint32_t Hosts::path_hash(Sender& s) {
  if (!settings_.spray) return s.hash;
  for (int tries = 0; tries < 8; ++tries) {
    s.path = (s.path + kPathStep) & 63;
    if (!(s.avoid >> s.path & 1)) break;
    s.avoid &= ~(std::uint64_t{1} << s.path);
  }
  return (s.hash & ~63u) | s.path;
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
  }
  const std::uint32_t slot = o.head;
  if (slot == kNobody) return;  // what was paced may not send any more: a window has closed
  Sender& s = senders_[slot];
  o.head = s.ring_next;
  s.queued = false;
  if (!may_send(slot)) return;  // the window has closed since
  const Id id = pool_.take();
  Packet& p = pool_[id];
  p = Packet{};
  p.flow = slot;
  p.seq = pick_sequence(slot, p.flags);
  p.hash = path_hash(s);
  p.sent = start;
  p.time = start;
  p.size = static_cast<std::uint16_t>(wire_size(s, p.seq));
  ++s.live;
  ++s.outstanding;
  ++out_.data;
  if (p.flags & kResent) {
    ++out_.flows[s.flow].resent;
  } else if (s.next == s.packets) {
    s.new_done = start;
  }
  before_send(s.control, settings_.control, start);
  if (s.control.gap > 0) s.control.next_send = start + (s.control.gap * p.size >> 10);
  if (!may_send(slot)) p.flags |= kAskAck;
  network_->transmit(wire, id, start);
  offer(slot, network_->port(wire).busy);
}

void Hosts::deliver(Id id, Ps now) {
  switch (pool_[id].kind) {
    case Kind::kData:
      return take_data(id, now);
    case Kind::kAck:
      return take_ack(id, now);
    default:
      return take_nack(id, now);
  }
}

void Hosts::lost(Id id) {
  const std::uint32_t slot = pool_[id].flow;
  pool_.give(id);
  let_go(slot);
}

void Hosts::take_data(Id id, Ps now) {
  const Packet p = pool_[id];
  const std::uint32_t slot = p.flow;
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

/// What has arrived beyond what was known to be there.
std::uint32_t Hosts::count_new(Sender& s, std::uint32_t total) {
  const std::uint32_t fresh = total > s.acked ? total - s.acked : 0;
  s.acked += fresh;
  s.outstanding -= std::min(fresh, s.outstanding);
  return fresh;
}

void Hosts::take_ack(Id id, Ps now) {
  const Packet p = pool_[id];
  const std::uint32_t slot = p.flow;
  Sender& s = senders_[slot];
  if (!s.done) {
    const std::uint32_t outlet = legs_[2 * slot].outlet;
    settle(outlet, now);
    const std::uint32_t fresh = count_new(s, p.serial);
    s.last_news = now;
    std::uint64_t *bits = known(slot), *gone = missing(slot);
    for (; s.all_before < p.seq; ++s.all_before) {
      clear(bits, words_, s.all_before);
      if (s.lost > 0 && test(gone, words_, s.all_before)) {
        clear(gone, words_, s.all_before);
        --s.lost;
      }
    }
    if (p.seq == s.all_before) note_beyond(slot, static_cast<std::uint64_t>(p.travel));
    News news;
    news.now = now;
    news.bytes = fresh * settings_.control.packet_bytes;
    news.delay = std::max<Ps>(0, now - p.sent - s.control.base_rtt);
    news.marked = p.worst * settings_.control.packet_bytes;
    news.last_marked = (p.flags & kMarked) != 0;
    news.load = p.paused * 0x1p-20;
    news.next = s.next;
    news.all_before = s.all_before;
    if (news.last_marked && settings_.spray) s.avoid |= std::uint64_t{1} << (p.worst_wait & 63);
    on_ack(s.control, settings_.control, news);
    if (s.acked == s.packets) {
      finish(slot, now);
    } else {
      offer(slot, now);
    }
    kick(outlet, now);
  }
  pool_.give(id);
  let_go(slot);
}

/// 64 packets from all_before on: those that are there need not be repeated.
void Hosts::note_beyond(std::uint32_t slot, std::uint64_t there) {
  Sender& s = senders_[slot];
  std::uint64_t *bits = known(slot), *gone = missing(slot);
  for (; there != 0; there &= there - 1) {
    const std::uint32_t seq = s.all_before + static_cast<std::uint32_t>(std::countr_zero(there));
    set(bits, words_, seq);
    if (s.lost == 0 || !test(gone, words_, seq)) continue;
    clear(gone, words_, seq);
    --s.lost;
  }
}

void Hosts::take_nack(Id id, Ps now) {
  const Packet p = pool_[id];
  const std::uint32_t slot = p.flow;
  Sender& s = senders_[slot];
  if (!s.done && p.seq >= s.all_before && !test(missing(slot), words_, p.seq)) {
    const std::uint32_t outlet = legs_[2 * slot].outlet;
    settle(outlet, now);
    s.last_news = now;
    count_new(s, p.serial);
    if (settings_.recovery == Recovery::kGoBack) {
      go_back(slot, p.seq);
    } else {
      set(missing(slot), words_, p.seq);
      ++s.lost;
      if (s.outstanding > 0) --s.outstanding;
    }
    if (settings_.spray) s.avoid |= std::uint64_t{1} << (p.worst_wait & 63);
    on_loss(s.control, settings_.control, now, wire_size(s, p.seq), s.outstanding * settings_.control.packet_bytes);
    offer(slot, now);
    kick(outlet, now);
  }
  pool_.give(id);
  let_go(slot);
}

/// All from `seq` on is to be sent again.
void Hosts::go_back(std::uint32_t slot, std::uint32_t seq) {
  Sender& s = senders_[slot];
  std::uint64_t* gone = missing(slot);
  for (; seq < s.next; ++seq) {
    if (test(gone, words_, seq)) continue;
    set(gone, words_, seq);
    ++s.lost;
  }
  s.outstanding = 0;
}

/// Nothing was heard for long: all that is in flight counts as lost.
void Hosts::timer(std::uint32_t slot, Ps now) {
  Sender& s = senders_[slot];
  if (s.done) return let_go(slot);
  if (now - s.last_news >= settings_.timeout) {
    const std::uint32_t outlet = legs_[2 * slot].outlet;
    settle(outlet, now);
    s.last_news = now;
    ++out_.timeouts;
    std::uint64_t *bits = known(slot), *gone = missing(slot);
    for (std::uint32_t seq = s.all_before; seq < s.next; ++seq) {
      if (test(bits, words_, seq) || test(gone, words_, seq)) continue;
      set(gone, words_, seq);
      ++s.lost;
    }
    s.outstanding = 0;
    on_timeout(s.control, settings_.control, now);
    offer(slot, now);
    kick(outlet, now);
  }
  events_.push(timer_source(slot), s.last_news + settings_.timeout);
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
  trigger(s.flow, FlowTrigger::kReceived, now);
}

void Hosts::finish(std::uint32_t slot, Ps now) {
  Sender& s = senders_[slot];
  PacketOutcome& o = out_.flows[s.flow];
  s.done = true;
  ++finished_;
  o.fct = Duration::ps(now) - o.start.since_start();
  o.parts.acknowledgement = o.fct - o.received;
  out_.resent += o.resent;
  out_.end = std::max(out_.end, o.start + o.fct);
  trigger(s.flow, FlowTrigger::kAcked, now);
}

}  // namespace busbar::packet
