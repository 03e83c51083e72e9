// The network between hosts: store-and-forward switches, queues, marking, trimming, pause and credits.
//
// Ports are served lazily: a hop costs one event, the arrival. The event that takes the last packet off a wire comes
// one propagation delay after the wire became free. Only then does its port send, in one go, every packet whose turn
// came in between, each with the time of its turn. This changes no time: no packet could have been noticed elsewhere
// before, and every arrival that looks at a queue serves it first up to now. Each departure is an event of its own if a
// neighbour can block sending (pause, credits) or if ports share a buffer.
//
// Sources of events: wire w is number w, the end of a transmission on it wires + w, then kFaultEvents for each fault.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "busbar/base/random.h"
#include "busbar/packet/internal/event_queue.h"
#include "busbar/packet/internal/lanes.h"
#include "busbar/packet/internal/network_options.h"
#include "busbar/packet/internal/outbox.h"
#include "busbar/packet/internal/port.h"
#include "busbar/packet/internal/split.h"
#include "busbar/packet/internal/wiring.h"
#include "busbar/packet/packet_list.h"

namespace busbar::packet {

/// A 32-bit mixing function. Source: Murmur3's finaliser (A. Appleby, public domain).
constexpr std::uint32_t mix32(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

inline constexpr std::uint32_t kFlowletPlaces = 1024;  ///< per switch; a power of two
/// From so many wires on, ports and packets do not fit into a core's cache (1 MiB) and are prefetched.
inline constexpr std::uint32_t kManyWires = 1024;
/// From so many flows on, their legs do not fit either.
inline constexpr std::uint32_t kManyFlows = 4096;
inline constexpr std::uint32_t kOpenWay = kNone32;      ///< decided at the arrival
inline constexpr std::uint32_t kWayEnds = kNone32 - 1;  ///< the record ends at the next node
inline constexpr std::uint32_t kFaultEvents = 5;        ///< sources of events per fault

/// `Hosts` provides: flows(), their number; leg(flow, back); foresee(packet), which prefetches what deliver() will
/// need; deliver(id, now); lost(id); run_dry(wire, now), called when one of their wires has become empty;
/// before_pause(wire, now) and after_pause(wire, now).
template <class Hosts>
class Network {
 public:
  Network(const Wiring& wiring, Pool& pool, EventQueue& events, const NetworkOptions& options, Hosts& hosts);

  /// The first record on a wire has arrived at its end.
  void arrive(std::uint32_t wire, Ps now);
  /// A transmission has ended. Only in networks that can block.
  [[gnu::always_inline]] void depart(std::uint32_t wire, Ps now);
  /// Prefetches the data of the next arrivals into the cache; changes nothing.
  void foresee();
  /// From now on this holds only `part`; packets to other parts leave by `outbox`.
  void join(const NetworkPart& part, Outbox& outbox);
  /// At wires to other parts, sends every packet whose turn came before `end`, the end of a window. Returns when the
  /// next turn comes, INT64_MAX if nothing waits.
  Ps hand_over_until(Ps end);
  /// Sends every packet whose turn came before `end`, the end of the run.
  void close(Ps end);
  /// Takes a record that arrives on a wire from another part. Records of one wire must come in the order of sending.
  void receive(const Packet& p);
  /// Puts a record on an idle wire. Its first bit leaves at `start`.
  void transmit(std::uint32_t wire, Id id, Ps start);

  Port& port(std::uint32_t wire) { return ports_[wire]; }
  std::span<const Port> ports() const { return ports_; }
  const Speed& speed(const Port& o) const { return speeds_[o.speed]; }
  /// Ports that wait for each other in a cycle, as wires; empty if there is no cycle.
  std::vector<std::uint32_t> deadlock() const;
  /// All wires, in order. Pre: close(now).
  void sample(Ps now, std::vector<PacketLinkSample>& out) const;
  void add_to_lanes(std::uint32_t wire, std::vector<PacketLane>& lanes) const;
  const QueueHistogram& histogram(std::uint32_t wire) const { return histograms_[wire]; }
  /// Whether data of that lane must wait: the lane is paused or has no credits.
  bool lane_stopped(std::uint32_t wire, std::uint32_t l) const {
    return many_ ? lane(wire, l).stopped : ports_[wire].stopped != 0;
  }
  /// The event sources from 2 wires on: kFaultEvents for each fault.
  void begin_faults();
  bool take_fault(std::uint32_t source, Ps now);
  bool changes_to_come() const { return changes_to_come_ > 0; }
  bool down(std::uint32_t wire) const { return ports_[wire].troubled && trouble_[wire].down > 0; }
  std::uint64_t hops() const { return hops_; }

 private:
  struct Ingress {
    std::uint32_t bytes = 0;     ///< in the buffer, received on this wire
    std::uint32_t headroom = 0;  ///< of these, bytes above the threshold
    bool pausing = false;
  };
  enum class FaultEvent : std::uint8_t { kBegins, kEnds, kReroutes, kRoutesBack, kServes };
  /// The path of the last packets of the flows that share a place in the table, and when they took it.
  struct Flowlet {
    Ps last = INT64_MIN / 2;
    std::uint32_t wire = kNone32, turn = 0;
  };
  /// The next record to arrive on a wire, and where it will go on: in large machines foresee() finds that.
  struct Front {
    Id id = 0;
    std::uint32_t way = kOpenWay;
  };
  /// The present faults of a wire, and the packets that wait in the slow host at its end.
  struct Trouble {
    std::int32_t down = 0;
    std::uint32_t bytes = 0, serves = 0;  ///< waiting bytes; the fault whose event source serves them
    std::uint64_t loss = 0, dice = 0;     ///< probability in 2^-32; random draws so far
    Fifo waiting;
    bool slow = false, full = false, storm = false;
    bool serving = false;  ///< its event source is due
    Ps again = 0;          ///< when a lost packet has come by the link once more; those behind it wait
  };

  /// The hash of a real switch is a CRC, hence linear: consecutive values of one header field hit the members of a
  /// group equally often. The low six bits are that field; they rotate the hash of the other fields.
  std::uint32_t path_of(const Packet& p, std::uint32_t node) const {
    return options_.independent_hash ? mix32(p.hash ^ salt_[node])
                                     : mix32((p.hash >> 6) ^ salt_[node]) + (p.hash << 26);
  }
  std::uint32_t hashed(std::span<const std::uint32_t> wires, const Packet& p, std::uint32_t node) const {
    if (wires.size() == 1) return wires[0];
    return wires[static_cast<std::uint32_t>(std::uint64_t{path_of(p, node)} * wires.size() >> 32)];
  }
  [[gnu::noinline]] std::uint32_t choose(std::span<const std::uint32_t> wires, const Packet& p, std::uint32_t node,
                                         Ps now);
  std::uint32_t shorter(std::span<const std::uint32_t> wires, const Packet& p, std::uint32_t node, Ps now);
  Ps load_of(std::uint32_t wire, Ps now);
  std::uint32_t emptiest(std::span<const std::uint32_t> wires, Ps now);
  std::uint32_t flowlet(std::span<const std::uint32_t> wires, const Packet& p, std::uint32_t node, Ps now);
  void await_end(std::uint32_t wire, Port& o);
  [[gnu::always_inline]] void await_arrival(std::uint32_t wire, const Port& o);
  [[gnu::always_inline]] void fly(std::uint32_t wire, Port& o, Id id);
  [[gnu::noinline]] void hand_over(Port& o, Id id);
  [[gnu::noinline]] bool waits_for_tail(std::uint32_t wire, Port& from, Ps now);
  [[gnu::always_inline]] void enqueue(std::uint32_t wire, Id id, Ps now);
  [[gnu::always_inline]] void settle(std::uint32_t wire, Port& o, Ps now);
  [[gnu::noinline]] bool serve(std::uint32_t wire, Port& o, Ps start);
  [[gnu::always_inline]] bool admit(std::uint32_t wire, Port& o, Id id, std::uint32_t from, Ps now);
  [[gnu::noinline]] void mark(std::uint32_t wire, Port& o, std::uint32_t queued, Packet& p, Ps now);
  [[gnu::noinline]] void note_trouble(std::uint32_t wire, Port& o, const Packet& p, PacketEvent what, Ps now);
  [[gnu::always_inline]] void note_wait(std::uint32_t wire, Packet& p, Ps start) const;
  LaneQueue& lane(std::uint32_t wire, std::uint32_t l) { return lanes_[std::size_t{wire} * lane_count_ + l]; }
  const LaneQueue& lane(std::uint32_t wire, std::uint32_t l) const {
    return lanes_[std::size_t{wire} * lane_count_ + l];
  }
  const Fifo& data_of(std::uint32_t wire, std::uint32_t l) const {
    return many_ ? lane(wire, l).data : ports_[wire].data;
  }
  std::uint32_t speed_of(const Speed& s);
  [[gnu::always_inline]] std::uint32_t way_after(const Packet& p, std::uint32_t wire, const Port& o) const;
  [[gnu::noinline]] std::uint32_t first_way(const Packet& p, std::uint32_t wire, const Port& o) const {
    return way_after(p, wire, o);
  }
  void make_lanes();
  [[gnu::noinline]] void queue_in_lane(std::uint32_t wire, Id id);
  [[gnu::noinline]] bool serve_lane(std::uint32_t wire, Port& o, Ps start);
  [[gnu::noinline]] void stop_lane(std::uint32_t wire, Port& o, std::uint32_t l, Ps now);
  [[gnu::noinline]] void free_lane(std::uint32_t wire, Port& o, std::uint32_t l, Ps now);
  [[gnu::always_inline]] void forward(Id id, std::uint32_t node, std::uint32_t way, Ps now);
  [[gnu::always_inline]] void launch(std::uint32_t wire, Port& o, Id id, Ps start);
  bool pausing() const { return options_.lossless == Lossless::kPause; }
  bool credits() const { return options_.lossless == Lossless::kCredits; }
  [[gnu::noinline]] bool fits_headroom(std::uint32_t from, std::uint32_t lane, std::uint32_t size) const;
  void send_control(std::uint32_t wire, Id id, Ps now);
  [[gnu::noinline]] void spend(std::uint32_t wire, Port& o, std::uint32_t lane, std::uint32_t size, Ps now);
  void give_back(std::uint32_t from, std::uint32_t lane, std::uint32_t size, Ps now);
  void stop(std::uint32_t wire, Port& o, std::uint32_t lane, Ps now);
  void go_on(std::uint32_t wire, Port& o, std::uint32_t lane, Ps now);
  [[gnu::noinline]] void note_pause(Ps since, Ps until, Packet& p);
  [[gnu::noinline]] void note_load(Port& o, Packet& p, Ps end);
  [[gnu::noinline]] void hold(std::uint32_t from, std::uint32_t lane, std::uint32_t node, std::uint32_t size, Ps now);
  void release(std::uint32_t wire, Port& o, Ps now);
  std::int64_t pause_threshold(std::uint32_t node) const;
  void send_pause(std::uint32_t from, Kind kind, std::uint32_t lane, Ps now);
  [[gnu::noinline]] void take_permit(std::uint32_t wire, const Packet& p, Ps now);
  void schedule(std::uint32_t fault, FaultEvent what, Ps at);
  void change(std::uint32_t fault, bool begins, Ps now);
  void tell(std::uint32_t wire, Kind kind, Ps now);
  void set_rate(std::uint32_t wire, double factor);
  [[gnu::noinline]] bool survives(std::uint32_t wire, Id id, Ps now);
  void lose(std::uint32_t wire, Id id, Ps now);
  Ps service_time(std::uint32_t wire, const Trouble& t) const;
  /// Whether the host at the end of a wire takes nothing and gives no credits back.
  bool stuck(const Trouble& t) const { return t.storm && credits(); }
  bool loses(std::uint32_t wire, Trouble& t) const {
    return t.loss > 0 && mix64(options_.seed ^ mix64(wire) ^ ++t.dice) >> 32 < t.loss;
  }
  void serve_next(std::uint32_t wire, Ps now);
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
  Outbox* outbox_ = nullptr;  ///< only if there are several parts
  const NetworkPart* part_ = nullptr;
  std::vector<std::uint32_t> waiting_;  ///< wires to other parts at which packets wait
  bool eager_;
  bool plans_ = true;  ///< the way of a record is known when it is sent
  bool many_ = false;  ///< several lanes
  std::uint32_t lane_count_ = 1;
  std::vector<Port> ports_;
  std::vector<Speed> speeds_;
  std::vector<Front> fronts_;     ///< per wire; valid while its event is pending
  std::vector<LaneQueue> lanes_;  ///< per wire and lane; only with several lanes
  std::vector<LaneTurns> turns_;  ///< per wire; likewise
  std::vector<QueueHistogram> histograms_;
  std::vector<Ingress> ingress_;        ///< per wire and lane; only with shared buffers
  std::vector<std::int64_t> held_;      ///< per node: bytes in its shared buffer
  std::vector<std::int64_t> shared_;    ///< per node: size of that buffer without headroom
  std::vector<std::int64_t> headroom_;  ///< per node: headroom of each cable and lane
  std::vector<std::uint32_t> salt_;     ///< per node, for the hash of paths
  std::vector<Flowlet> flowlets_;       ///< kFlowletPlaces per switch
  std::vector<Trouble> trouble_;        ///< per wire; only with faults
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
      eager_(options.lossless != Lossless::kNo),
      plans_(!options.adaptive && options.flowlet_gap == 0 && options.faults.empty()) {
  const auto wires = wiring.wires();
  events_.reserve(static_cast<std::uint32_t>(2 * wires.size()));
  ports_.resize(wires.size());
  fronts_.resize(wires.size());
  histograms_.resize(wires.size());
  make_lanes();
  ingress_.resize(eager_ ? wires.size() * lane_count_ : 0);
  held_.assign(wiring.nodes(), 0);
  std::vector<std::int64_t> cables(wiring.nodes(), 0);
  for (std::uint32_t w = 0; w < wires.size(); ++w) {
    Port& o = ports_[w];
    o.speed = speed_of(
        {wires[w].latency, static_cast<std::uint32_t>(wires[w].ps_bytes), static_cast<std::uint32_t>(wires[w].bytes)});
    o.to = wires[w].to & 0x3ff'ffffu;
    o.credits = options.credit_bytes;
    o.cut = wires[w].joint || (options.cut_through && wires[w].to < wiring.switches());
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

/// The number of a speed in the list. Only the last ones are searched: all may differ.
template <class Hosts>
std::uint32_t Network<Hosts>::speed_of(const Speed& s) {
  constexpr std::size_t kSearched = 64;
  for (std::size_t i = speeds_.size(); i > 0 && i + kSearched > speeds_.size(); --i)
    if (speeds_[i - 1] == s) return static_cast<std::uint32_t>(i - 1);
  speeds_.push_back(s);
  return static_cast<std::uint32_t>(speeds_.size() - 1);
}

/// The ports, packets and histograms of a large machine do not fit into a core's cache. So well before an arrival it
/// prefetches, one after the other, the wire and the packet on it, where its flow goes, the NIC there, the port to
/// which it goes on, and what a turn of that port, or the flow, touches. Each step reads what an earlier one has
/// fetched. Further ahead, lines would leave the first cache before their use.
template <class Hosts>
void Network<Hosts>::foresee() {
  const auto wires = static_cast<std::uint32_t>(ports_.size());
  if (wires < kManyWires) return;
  const std::span<const EventQueue::Event> next = events_.ahead();
  const auto at = [&](std::uint32_t n) { return n < next.size() ? next[n].source : kNone32; };
  const bool legs = hosts_.flows() >= kManyFlows;
  if (const std::uint32_t w = at(legs ? 18 : 13); w < wires) {
    prefetch_to_write(&ports_[w]);
    prefetch(&pool_[fronts_[w].id]);
  }
  if (const std::uint32_t w = at(14); legs && w < wires) {
    const Packet& p = pool_[fronts_[w].id];
    if (p.kind < Kind::kPause) prefetch(&hosts_.leg(p.flow, p.kind != Kind::kData));
  }
  if (const std::uint32_t w = at(11); legs && w < wires) {
    const Packet& p = pool_[fronts_[w].id];
    if (p.kind < Kind::kPause) wiring_.foresee(ports_[w].to, hosts_.leg(p.flow, p.kind != Kind::kData));
  }
  if (const std::uint32_t w = at(8); w < wires) {
    Front& f = fronts_[w];
    const Packet& p = pool_[f.id];
    prefetch(&pool_[p.next != kNone32 ? p.next : f.id]);
    f.way = way_after(p, w, ports_[w]);
    if (f.way < wires) {
      prefetch_to_write(&ports_[f.way]);
    } else if (f.way == kWayEnds) {
      hosts_.foresee(p);
    }
  }
  if (const std::uint32_t w = at(4); w < wires) {
    const std::uint32_t way = std::min(fronts_[w].way, wires - 1);  // where it is not known, any port
    const Port& o = ports_[way];
    // No branches: a processor would guess every second one wrong.
    const auto fetch = [&](std::uint32_t some, Id id) { prefetch_to_write(&pool_[some > 0 ? id : Id{0}]); };
    fetch(o.flying.head != kNone32, o.flying.tail);
    fetch(o.queued, o.data.head);
    fetch(o.queued, o.data.tail);
    fetch(o.queued_control, o.control.head);
    prefetch_to_write(&histograms_[way].count[QueueHistogram::step(o.queued)]);
  }
}

}  // namespace busbar::packet

#include "busbar/packet/internal/network_faults.h"
#include "busbar/packet/internal/network_hops.h"
#include "busbar/packet/internal/network_lanes.h"
#include "busbar/packet/internal/network_lossless.h"
#include "busbar/packet/internal/network_parts.h"
#include "busbar/packet/internal/network_samples.h"
#include "busbar/packet/internal/network_ways.h"
