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
#include "busbar/packet/internal/event_queue.h"
#include "busbar/packet/internal/lanes.h"
#include "busbar/packet/internal/mail.h"
#include "busbar/packet/internal/network_options.h"
#include "busbar/packet/internal/port.h"
#include "busbar/packet/internal/split.h"
#include "busbar/packet/internal/wiring.h"

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

}  // namespace busbar::packet

#include "busbar/packet/internal/network_faults.h"
#include "busbar/packet/internal/network_hops.h"
#include "busbar/packet/internal/network_lanes.h"
#include "busbar/packet/internal/network_lossless.h"
#include "busbar/packet/internal/network_parts.h"
#include "busbar/packet/internal/network_ways.h"
