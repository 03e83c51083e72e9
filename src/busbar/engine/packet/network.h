// The network between hosts: switches that store and forward, queues, marking, trimming, pause and credits.
//
// Ports are served lazily, so that a hop costs one event, the arrival. The event that takes the last packet off a wire
// comes one propagation delay after the wire became free; only then its port sends, in one go, everything whose turn
// came in between, with the times at which each turn came. Nothing is early or late by that: no packet could be noticed
// elsewhere before, and whoever looks at a queue (an arrival) brings it up to date first. Where sending can be blocked
// by a neighbour (pause, credits) or a buffer is shared between ports, each departure is an event of its own.
//
// Sources of events: wire w is number w, the end of a transmission on it wires + w, then kFaultEvents for each fault.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "busbar/base/random.h"
#include "busbar/engine/packet/event_queue.h"
#include "busbar/engine/packet/lanes.h"
#include "busbar/engine/packet/mail.h"
#include "busbar/engine/packet/network_options.h"
#include "busbar/engine/packet/port.h"
#include "busbar/engine/packet/split.h"
#include "busbar/engine/packet/wiring.h"

namespace busbar::packet {

/// A mixer of 32 bits; source: Murmur3's finaliser (A. Appleby, public domain).
constexpr std::uint32_t mix32(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

inline constexpr std::uint32_t kFlowletPlaces = 1024;  ///< per switch; a power of two
inline constexpr std::uint32_t kFaultEvents = 5;       ///< sources of events per fault

/// `Hosts` provides: leg(flow, back); deliver(id, now); lost(id); run_dry(wire, now) when a wire of theirs has become
/// empty; before_pause(wire, now), after_pause(wire, now).
template <class Hosts>
class Network {
 public:
  Network(const Wiring& wiring, Pool& pool, EventQueue& events, const NetworkOptions& options, Hosts& hosts);

  /// The first record on a wire has come to its end.
  void arrive(std::uint32_t wire, Ps now);
  /// A transmission has ended; blocking networks only.
  [[gnu::always_inline]] void depart(std::uint32_t wire, Ps now);
  /// Brings into the cache what the next arrivals will need; changes nothing.
  void foresee();
  /// From now on only `part` is here; what leaves it goes by `mail`.
  void join(const NetworkPart& part, Mail& mail);
  /// Sends all whose turn at the end of a wire to another part came before `end`, that of a window; returns when the
  /// next turn comes, INT64_MAX when nothing waits.
  Ps hand_over_until(Ps end);
  /// Sends all whose turn came before `end`, that of the run.
  void close(Ps end);
  /// A record that comes by a wire from another part; those of a wire in the order in which they were sent.
  void receive(const Packet& p);
  /// Puts a record on an idle wire; its first bit leaves at `start`.
  void transmit(std::uint32_t wire, Id id, Ps start);

  Port& port(std::uint32_t wire) { return ports_[wire]; }
  std::span<const Port> ports() const { return ports_; }
  /// Ports that wait for each other in a circle, as wires; empty when there is none.
  std::vector<std::uint32_t> deadlock() const;
  const QueueHistogram& histogram(std::uint32_t wire) const { return histograms_[wire]; }
  bool eager() const { return eager_; }
  /// Whether data of that lane must wait: paused, or without credits.
  bool lane_stopped(std::uint32_t wire, std::uint32_t l) const {
    return many_ ? lane(wire, l).stopped : ports_[wire].stopped != 0;
  }
  /// Sources of events from 2 wires on, kFaultEvents for each fault.
  void begin_faults();
  bool take_fault(std::uint32_t source, Ps now);
  bool changes_to_come() const { return changes_to_come_ > 0; }
  bool down(std::uint32_t wire) const { return ports_[wire].troubled && trouble_[wire].down > 0; }
  std::uint64_t hops() const { return hops_; }

 private:
  struct Ingress {
    std::uint32_t bytes = 0;     ///< in the buffer, having come by this wire
    std::uint32_t headroom = 0;  ///< of which above the threshold
    bool pausing = false;
  };
  enum class FaultEvent : std::uint8_t { kBegins, kEnds, kReroutes, kRoutesBack, kServes };
  /// Where the last packets of the flows that share a place in the table went, and when.
  struct Flowlet {
    Ps last = INT64_MIN / 2;
    std::uint32_t wire = kNobody, turn = 0;
  };
  /// What is wrong with a wire at present, and what waits in the slow host at its end.
  struct Trouble {
    std::int32_t down = 0;
    std::uint32_t bytes = 0, serves = 0;  ///< waiting; the fault whose source serves them
    std::uint64_t loss = 0, dice = 0;     ///< probability in 2^-32; packets that were diced for
    Fifo waiting;
    bool slow = false, full = false, storm = false;
  };

  /// The hash of a real switch is a CRC, hence linear: consecutive values of one header field meet the members of a
  /// group equally often. The low six bits are that field, and turn the hash of the rest around the circle.
  std::uint32_t path_of(const Packet& p, std::uint32_t node) const {
    return mix32((p.hash >> 6) ^ salt_[node]) + (p.hash << 26);
  }
  std::uint32_t hashed(std::span<const std::uint32_t> wires, const Packet& p, std::uint32_t node) const {
    if (wires.size() == 1) return wires[0];
    return wires[static_cast<std::uint32_t>(std::uint64_t{path_of(p, node)} * wires.size() >> 32)];
  }
  std::uint32_t choose(std::span<const std::uint32_t> wires, const Packet& p, std::uint32_t node, Ps now);
  std::uint32_t shorter(std::span<const std::uint32_t> wires, const Packet& p, std::uint32_t node, Ps now);
  std::uint32_t flowlet(std::span<const std::uint32_t> wires, const Packet& p, std::uint32_t node, Ps now);
  void await_end(std::uint32_t wire, Port& o);
  void fly(std::uint32_t wire, Port& o, Id id);
  void hand_over(Port& o, Id id);
  bool waits_for_tail(std::uint32_t wire, Port& from, Ps now);
  void enqueue(std::uint32_t wire, Id id, Ps now);
  void settle(std::uint32_t wire, Port& o, Ps now);
  bool serve(std::uint32_t wire, Port& o, Ps start);
  bool admit(std::uint32_t wire, Port& o, Id id, std::uint32_t from);
  void mark(Port& o, std::uint32_t queued, Packet& p);
  void note_wait(std::uint32_t wire, Packet& p, Ps start) const;
  LaneQueue& lane(std::uint32_t wire, std::uint32_t l) { return lanes_[std::size_t{wire} * lane_count_ + l]; }
  const LaneQueue& lane(std::uint32_t wire, std::uint32_t l) const {
    return lanes_[std::size_t{wire} * lane_count_ + l];
  }
  const Fifo& data_of(std::uint32_t wire, std::uint32_t l) const {
    return many_ ? lane(wire, l).data : ports_[wire].data;
  }
  void make_lanes();
  [[gnu::noinline]] void queue_in_lane(std::uint32_t wire, Id id);
  [[gnu::noinline]] bool serve_lane(std::uint32_t wire, Port& o, Ps start);
  [[gnu::noinline]] void stop_lane(std::uint32_t wire, Port& o, std::uint32_t l, Ps now);
  [[gnu::noinline]] void free_lane(std::uint32_t wire, Port& o, std::uint32_t l, Ps now);
  void forward(Id id, std::uint32_t node, Ps now);
  bool pausing() const { return options_.lossless == Lossless::kPause; }
  bool credits() const { return options_.lossless == Lossless::kCredits; }
  bool fits_headroom(std::uint32_t from, std::uint32_t lane, std::uint32_t size) const;
  void send_control(std::uint32_t wire, Id id, Ps now);
  void spend(std::uint32_t wire, Port& o, std::uint32_t lane, std::uint32_t size, Ps now);
  void give_back(std::uint32_t from, std::uint32_t lane, std::uint32_t size, Ps now);
  void stop(std::uint32_t wire, Port& o, std::uint32_t lane, Ps now);
  void go_on(std::uint32_t wire, Port& o, std::uint32_t lane, Ps now);
  void note_pause(Ps since, Ps until, Packet& p);
  void note_load(Port& o, Packet& p, Ps end);
  void hold(std::uint32_t from, std::uint32_t lane, std::uint32_t node, std::uint32_t size, Ps now);
  void release(std::uint32_t wire, Port& o, Ps now);
  std::int64_t pause_threshold(std::uint32_t node) const;
  void send_pause(std::uint32_t from, Kind kind, std::uint32_t lane, Ps now);
  void take_permit(std::uint32_t wire, const Packet& p, Ps now);
  void schedule(std::uint32_t fault, FaultEvent what, Ps at);
  void change(std::uint32_t fault, bool begins, Ps now);
  void tell(std::uint32_t wire, Kind kind, Ps now);
  void set_rate(std::uint32_t wire, double factor);
  bool survives(std::uint32_t wire, Id id, Ps now);
  void lose(std::uint32_t wire, Id id, Ps now);
  Ps service_time(std::uint32_t wire, const Trouble& t) const;
  void serve_slowly(std::uint32_t wire, Ps now);
  std::uint32_t serving_source(const Trouble& t) const {
    return static_cast<std::uint32_t>(2 * ports_.size()) + t.serves * kFaultEvents +
           static_cast<std::uint32_t>(FaultEvent::kServes);
  }

  const Wiring& wiring_;
  Pool& pool_;
  EventQueue& events_;
  const NetworkOptions options_;
  Hosts& hosts_;
  Mail* mail_ = nullptr;  ///< only where there are several parts
  const NetworkPart* part_ = nullptr;
  std::vector<std::uint32_t> waiting_;  ///< wires to other parts at which something waits
  bool eager_;
  bool many_ = false;  ///< lanes
  std::uint32_t lane_count_ = 1;
  std::vector<Port> ports_;
  std::vector<LaneQueue> lanes_;  ///< per wire and lane; only where there are several
  std::vector<LaneTurns> turns_;  ///< per wire; likewise
  std::vector<QueueHistogram> histograms_;
  std::vector<Ingress> ingress_;        ///< per wire and lane; only where buffers are shared
  std::vector<std::int64_t> held_;      ///< per node: bytes in its shared buffer
  std::vector<std::int64_t> shared_;    ///< per node: size of that buffer without headroom
  std::vector<std::int64_t> headroom_;  ///< per node: of each cable and lane
  std::vector<std::uint32_t> salt_;     ///< per node, for the hash of paths
  std::vector<Flowlet> flowlets_;       ///< kFlowletPlaces per switch
  std::vector<Trouble> trouble_;        ///< per wire; only when there are faults
  std::uint64_t changes_to_come_ = 0;
  std::uint64_t hops_ = 0;
};

template <class Hosts>
Network<Hosts>::Network(const Wiring& wiring, Pool& pool, EventQueue& events, const NetworkOptions& options,
                        Hosts& hosts)
    : wiring_(wiring),
      pool_(pool),
      events_(events),
      options_(options),
      hosts_(hosts),
      eager_(options.lossless != Lossless::kNo) {
  const auto wires = wiring.wires();
  events_.reserve(static_cast<std::uint32_t>(2 * wires.size()));
  ports_.resize(wires.size());
  histograms_.resize(wires.size());
  make_lanes();
  ingress_.resize(eager_ ? wires.size() * lane_count_ : 0);
  held_.assign(wiring.nodes(), 0);
  std::vector<std::int64_t> cables(wiring.nodes(), 0);
  for (std::uint32_t w = 0; w < wires.size(); ++w) {
    Port& o = ports_[w];
    o.latency = wires[w].latency;
    o.ps_bytes = static_cast<std::uint32_t>(wires[w].ps_bytes);
    o.bytes = static_cast<std::uint32_t>(wires[w].bytes);
    o.to = wires[w].to & 0x3ff'ffffu;
    o.credits = options.credit_bytes;
    o.cut = options.cut_through && wires[w].to < wiring.switches();
    ++cables[wires[w].to];
  }
  for (const std::uint32_t w : wiring.outlets().values) ports_[w].host = true;
  if (options.flowlet_gap > 0) flowlets_.resize(std::size_t{wiring.switches()} * kFlowletPlaces);
  for (std::uint32_t n = 0; n < wiring.nodes(); ++n) {
    salt_.push_back(static_cast<std::uint32_t>(mix64(options.seed ^ mix64(n))));
    cables[n] *= lane_count_;
    headroom_.push_back(
        std::min(options.headroom_bytes, options.buffer_bytes / std::max<std::int64_t>(1, 2 * cables[n])));
    shared_.push_back(options.buffer_bytes - cables[n] * headroom_.back());
  }
}

/// The ports of a large machine do not fit into a core's cache: three arrivals ahead the wire, two ahead its packet,
/// one ahead the port by which that goes on.
template <class Hosts>
void Network<Hosts>::foresee() {
  const auto wires = static_cast<std::uint32_t>(ports_.size());
  if (const std::uint32_t w = events_.ahead(2); w < wires) __builtin_prefetch(&ports_[w]);
  if (const std::uint32_t w = events_.ahead(1); w < wires) __builtin_prefetch(&pool_[ports_[w].flying.head]);
  if (const std::uint32_t w = events_.ahead(0); w < wires) {
    const Packet& p = pool_[ports_[w].flying.head];
    const std::uint32_t node = ports_[w].to;
    if (p.next != kNobody) __builtin_prefetch(&pool_[p.next]);
    if (p.kind >= Kind::kPause || node >= wiring_.switches()) return;
    const std::uint32_t nic = hosts_.leg(p.flow, p.kind != Kind::kData).nic;
    if (nic == kNobody) return;
    const auto next = wiring_.next(node, nic);
    if (!next.empty()) __builtin_prefetch(&ports_[hashed(next, p, node)]);
  }
}

// HOT: bench/run packet. Once per packet and hop, as is transmit().
template <class Hosts>
void Network<Hosts>::arrive(std::uint32_t wire, Ps now) {
  Port& from = ports_[wire];
  if (from.cut && waits_for_tail(wire, from, now)) [[unlikely]]
    return;
  const Id id = from.flying.pop(pool_);
  const std::uint32_t node = from.to;
  if (const Id next = from.flying.head; next != kNobody) {
    const Packet& p = pool_[next];
    events_.push(wire, p.time);
    if (p.next != kNobody) __builtin_prefetch(&pool_[p.next]);
  } else if (from.host && from.busy > now) {  // cut-through: its tail is still being sent
    events_.push(static_cast<std::uint32_t>(ports_.size()) + wire, from.busy);
  } else if (from.host) {
    hosts_.run_dry(wire, now);
  } else if (!eager_ && (from.queued > 0 || !from.control.empty())) {
    settle(wire, from, now);
    if (from.flying.empty() && from.busy > now) {
      await_end(wire, from);
    } else if (from.flying.empty()) {
      serve(wire, from, from.busy);  // without latency the turn comes only now
    }
  }
  if (from.troubled && !survives(wire, id, now)) [[unlikely]]
    return;
  forward(id, node, now);
}

template <class Hosts>
void Network<Hosts>::forward(Id id, std::uint32_t node, Ps now) {
  Packet& p = pool_[id];
  if (p.kind >= Kind::kPause) [[unlikely]] {
    const Packet permit = p;  // what it lets go may move the pool
    pool_.give(id);
    return take_permit(permit.wire ^ 1, permit, now);
  }
  const Leg& leg = hosts_.leg(p.flow, p.kind != Kind::kData);
  if (node == leg.target) {
    if (credits() && p.kind == Kind::kData) give_back(p.wire, lane_of(p), p.size, now);
    return hosts_.deliver(id, now);
  }
  const auto wires = node < wiring_.switches() ? wiring_.next(node, leg.nic) : wiring_.next_inside(node, leg);
  if (wires.empty()) [[unlikely]]
    return hosts_.lost(id);
  enqueue(wires.size() == 1 ? wires[0] : choose(wires, p, node, now), id, now);
}

template <class Hosts>
std::uint32_t Network<Hosts>::choose(std::span<const std::uint32_t> wires, const Packet& p, std::uint32_t node,
                                     Ps now) {
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
  const auto load = [&](std::uint32_t w) {
    settle(w, ports_[w], now);
    return std::max<Ps>(0, ports_[w].busy - now) + ports_[w].transfer(ports_[w].queued + ports_[w].queued_control);
  };
  return load(wires[second]) < load(wires[first]) ? wires[second] : wires[first];
}

template <class Hosts>
void Network<Hosts>::enqueue(std::uint32_t wire, Id id, Ps now) {
  Port& o = ports_[wire];
  settle(wire, o, now);
  if (const Packet& p = pool_[id]; p.kind == Kind::kData && !(p.flags & kTrimmed)) {
    if (o.queued > 0) histograms_[wire].add(o.queued);
    if (!admit(wire, o, id, p.wire)) return hosts_.lost(id);
    if (pausing()) hold(p.wire, lane_of(p), wiring_.wires()[wire].from, p.size, now);
  }
  const Packet& p = pool_[id];  // only now: a pause frame may have moved the pool
  const bool control = p.kind != Kind::kData || (p.flags & kTrimmed);  // admit() may have trimmed it
  const bool idle = eager_ ? !o.armed : o.busy <= now;
  if (idle && o.control.empty() &&
      (control || (o.queued == 0 && !(many_ ? lane(wire, lane_of(p)).stopped : o.stopped))))
    return transmit(wire, id, now);
  if (control) {
    o.control.push(pool_, id);
    o.queued_control += p.size;
  } else {
    many_ ? queue_in_lane(wire, id) : o.data.push(pool_, id);
    o.queued += p.size;
    o.peak = std::max(o.peak, o.queued);
    if (many_ && eager_ && idle) serve(wire, o, now);  // what is before it is stopped, in other lanes
  }
  if (!eager_ && o.flying.empty()) await_end(wire, o);
}

/// Cut-through: the head of what is being sent has arrived, its tail has not left; what waits has its turn then. What
/// waits to go to another part is seen to at the end of the window.
template <class Hosts>
void Network<Hosts>::await_end(std::uint32_t wire, Port& o) {
  if (o.armed) return;
  o.armed = 1;
  if (o.remote) return waiting_.push_back(wire);
  events_.push(static_cast<std::uint32_t>(ports_.size()) + wire, o.busy);
}

/// Sends everything whose turn came before `now`.
template <class Hosts>
void Network<Hosts>::settle(std::uint32_t wire, Port& o, Ps now) {
  while (o.busy < now && serve(wire, o, o.busy)) {
  }
}

/// Sends what is next, if anything may be sent; the wire must be free at `start`.
template <class Hosts>
bool Network<Hosts>::serve(std::uint32_t wire, Port& o, Ps start) {
  if (!o.control.empty()) {
    const Id id = o.control.pop(pool_);
    o.queued_control -= pool_[id].size;
    transmit(wire, id, start);
    return true;
  }
  if (o.queued == 0 || o.stopped) return false;
  if (many_) [[unlikely]]
    return serve_lane(wire, o, start);
  const Id id = o.data.pop(pool_);
  Packet& p = pool_[id];
  if (p.next != kNobody) __builtin_prefetch(&pool_[p.next]);
  o.queued -= p.size;
  note_wait(wire, p, start);
  if (start > p.time && o.paused_until > p.time) note_pause(o.paused_since, o.paused_until, p);
  if (o.queued > options_.mark_low) mark(o, o.queued, p);
  transmit(wire, id, start);
  return true;
}

template <class Hosts>
void Network<Hosts>::note_wait(std::uint32_t wire, Packet& p, Ps start) const {
  const Ps waited = start - p.time;
  if (waited <= p.worst_wait) return;
  p.worst_wait = static_cast<std::uint32_t>(std::min<Ps>(waited, UINT32_MAX));
  p.worst = wire;
}

/// Whether the packet may wait here; it may be trimmed for that.
template <class Hosts>
bool Network<Hosts>::admit(std::uint32_t wire, Port& o, Id id, std::uint32_t from) {
  Packet& p = pool_[id];
  if (eager_) {
    if (credits() || fits_headroom(from, lane_of(p), p.size)) return true;
    ++o.drops;
    return false;
  }
  if ((many_ ? lane(wire, lane_of(p)).queued : o.queued) + p.size <= options_.queue_bytes) return true;
  if (options_.trim && o.queued_control + options_.header_bytes <= options_.queue_bytes) {
    ++o.trims;
    p.flags |= kTrimmed;
    p.size = static_cast<std::uint16_t>(options_.header_bytes);
    return true;
  }
  ++o.drops;
  return false;
}

template <class Hosts>
void Network<Hosts>::mark(Port& o, std::uint32_t queued, Packet& p) {
  if (p.flags & kMarked) return;
  if (queued < options_.mark_high) {  // linear between the thresholds
    const std::uint64_t over = queued - options_.mark_low, range = options_.mark_high - options_.mark_low;
    const std::uint64_t dice = mix32(p.hash ^ mix32(p.seq ^ (p.flow << 12) ^ static_cast<std::uint32_t>(p.time >> 6)));
    if (dice * range >= over * options_.mark_most) return;
  }
  p.flags |= kMarked;
  ++o.marks;
}

template <class Hosts>
void Network<Hosts>::transmit(std::uint32_t wire, Id id, Ps start) {
  Port& o = ports_[wire];
  Packet& p = pool_[id];
  const Ps took = o.transfer(p.size);
  if (eager_) {
    const bool data = p.kind == Kind::kData && !(p.flags & kTrimmed);
    o.serving = data && !o.host ? p.size : 0;
    o.serving_lane = static_cast<std::uint8_t>(lane_of(p));
    o.serving_from = p.wire;
    if (data && credits()) spend(wire, o, lane_of(p), p.size, start);
  }
  if (options_.load_over > 0) note_load(o, p, start + took);
  o.busy = start + took;
  o.sent_bytes += p.size;
  ++hops_;
  const Ps first = o.cut ? o.transfer(std::min<std::uint32_t>(p.size, options_.header_bytes)) : took;
  p.time = start + first + o.latency;
  p.wire = wire;
  if (p.kind == Kind::kData) {
    p.travel += first + o.latency;
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
void Network<Hosts>::fly(std::uint32_t wire, Port& o, Id id) {
  if (o.flying.empty()) events_.push(wire, pool_[id].time);
  o.flying.push(pool_, id);
}

template <class Hosts>
inline void Network<Hosts>::depart(std::uint32_t wire, Ps now) {
  Port& o = ports_[wire];
  if (o.host) return hosts_.run_dry(wire, now);
  o.armed = 0;
  if (!eager_ && o.busy > now) return;  // a record has taken this turn, and its arrival sees to the next
  release(wire, o, now);
  if (!o.armed) serve(wire, o, now);
}

}  // namespace busbar::packet

#include "busbar/engine/packet/network_faults.h"
#include "busbar/engine/packet/network_lanes.h"
#include "busbar/engine/packet/network_lossless.h"
#include "busbar/engine/packet/network_parts.h"
#include "busbar/engine/packet/network_ways.h"
