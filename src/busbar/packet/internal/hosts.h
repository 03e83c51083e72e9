// Hosts: they cut flows into packets, send them when congestion control allows, acknowledge and resend.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "busbar/base/random.h"
#include "busbar/packet/internal/control.h"
#include "busbar/packet/internal/network.h"
#include "busbar/packet/internal/split.h"
#include "busbar/packet/internal/traffic.h"
#include "busbar/packet/packet_list.h"

namespace busbar::packet {

/// What a receiver does about missing packets.
enum class Recovery : std::uint8_t {
  kTrimming,   ///< nothing: switches trim packets and forward the headers, and paths may reorder
  kSelective,  ///< reports each missing packet once and keeps later ones
  kGoBack      ///< reports the first missing packet and discards all after it
};

/// How hosts make packets, acknowledge and resend.
struct HostSettings {
  std::uint32_t payload = 4096, header = 64;
  std::uint32_t packets_per_ack = 4;
  Recovery recovery = Recovery::kTrimming;
  bool grants = false;            ///< after the first window, receivers grant every packet
  bool reports_load = false;      ///< answers carry the load of the fullest link, in place of the time of pauses
  bool spray = false;             ///< packets of one flow take many paths
  std::uint32_t paths = 64;       ///< per sprayed flow; a power of two, at most 64
  std::uint32_t gap_packets = 0;  ///< above 0: a packet counts as lost when so many later ones have overtaken it
  std::uint64_t seed = 0;
  std::vector<std::uint32_t> lanes;  ///< weights, as in NetworkOptions
  std::uint32_t faults = 0;          ///< number of faults; their event sources come before those of hosts
  const FlowLog* log = nullptr;      ///< null: none
  /// All packets in flight count as lost after so long without an answer, counted from the flow's last transmission.
  Ps timeout = 0;
  ControlSettings control;
};

/// Flows that were added together have arrived; the last byte at `at` by the wire `wire`.
struct EndedBlock {
  std::uint32_t block = 0;
  std::uint32_t wire = 0;
  Ps at = 0;
};

class Hosts {
 public:
  /// The hosts of `part`; counts are written to `out`.
  Hosts(Traffic& traffic, Pool& pool, EventQueue& events, const HostSettings& settings, const NetworkPart& part,
        PacketResult& out);
  void join(Network<Hosts>& network);
  /// Starts the flows without dependencies.
  void begin();
  /// Makes one block of the last `flows` of the traffic, which are new. Returns how many of them end in this part.
  std::uint32_t add_block(std::uint32_t flows);
  /// Blocks all of whose flows to this part have arrived, in order, until the caller removes them.
  std::vector<EndedBlock>& ended_blocks() { return ended_blocks_; }
  std::uint32_t ended_blocks_waiting() const { return static_cast<std::uint32_t>(ended_blocks_.size()); }

  std::uint32_t flows() const { return traffic_.size(); }
  const Leg& leg(std::uint32_t flow, bool back) const { return traffic_.legs[2 * flow + (back ? 1 : 0)]; }
  void foresee(const Packet& p) const {
    const bool data = p.kind == Kind::kData;
    const std::uint32_t slot = data ? traffic_.receiver_of[p.flow] : traffic_.sender_of[p.flow];
    if (slot >= kOver) return;
    const char* at =
        data ? reinterpret_cast<const char*>(&receivers_[slot]) : reinterpret_cast<const char*>(&senders_[slot]);
    for (std::size_t i = 0; i < (data ? sizeof(Receiver) : sizeof(Sender)); i += 64) prefetch_to_write(at + i);
    prefetch_to_write(data ? &got_[std::size_t{slot} * words_] : &sent_bits_[std::size_t{slot} * 2 * words_]);
  }
  void deliver(Id id, Ps now);
  void wake(std::uint32_t outlet, Ps now);
  void run_dry(std::uint32_t wire, Ps now);
  void lost(Id id);
  void before_pause(std::uint32_t wire, Ps now) { settle(outlet_of_[wire], now); }
  void after_pause(std::uint32_t wire, Ps now);
  /// Sends a control record before all others, on this wire of its outlet and no other.
  void send_first(std::uint32_t wire, Id id, Ps now);
  std::uint64_t delivered() const { return delivered_; }
  /// How often a timer found a flow that had neither sent nor heard anything for a timeout, for whatever reason.
  std::uint64_t silences() const { return silences_; }
  void pull(std::uint32_t outlet, Ps now);
  /// The hosts' first event source. In order: outlets, their pulls, flows (first their start, then their timer).
  std::uint32_t first_source() const {
    return static_cast<std::uint32_t>(2 * wiring_.wires().size()) + settings_.faults * kFaultEvents;
  }
  void take_event(std::uint32_t source, Ps now);
  std::uint64_t finished() const { return finished_; }
  /// Sends every packet whose turn came before `now`, at all outlets.
  void settle_all(Ps now);
  /// Flows that have begun and not ended, in arbitrary order.
  void sample(std::vector<PacketFlowSample>& out) const;

 private:
  static constexpr std::uint32_t kPathStep = 37;  ///< odd: it visits all 64 paths, and consecutive ones lie far apart
  static constexpr std::uint8_t kCopy = 64, kThird = 128;  ///< the second copy; a later one
  static constexpr int kPathTries = 64;                    ///< paths with a penalty that a packet passes over
  static constexpr Ps kNever = INT64_MAX;
  /// What a sprayed flow knows about its paths, one bit for each.
  struct Paths {
    std::uint64_t good = 0, bad = 0;   ///< to be taken again, each once; with a penalty in penalties_
    std::uint32_t turn = 0, dead = 0;  ///< the last one taken in turn; number of paths that lost a packet
    bool trouble = false;              ///< a packet was trimmed or lost
  };
  struct Sender {
    std::uint32_t flow = 0, packets = 0, next = 0;  ///< next: first packet that was never sent
    std::uint32_t acked = 0, all_before = 0;  ///< packets known to have arrived: their number; all before this one
    std::uint32_t outstanding = 0, lost = 0;  ///< packets in flight; packets to repeat
    std::uint32_t hash = 0, path = 0;
    std::uint32_t ring_next = kNone32;
    std::uint32_t wires = 1;  ///< parallel wires of its outlet: window and rate are those of one wire times this
    std::uint32_t sends = 0, granted = 0;  ///< all copies; how many the receiver allows (credit)
    bool queued = false, done = false;
    bool unasked = false;  ///< its last packet asked for no answer
    std::uint8_t lane = 0;
    std::uint32_t seen = 0;         ///< one more than the highest packet known to have arrived
    std::uint32_t gaps_before = 0;  ///< packets before this one are not looked for in gaps any more
    Paths paths;
    Ps clock = 0;  ///< its last transmission or answer, whichever came later: its timeout counts from here
    Ps new_done = 0;
    Control control;
  };
  struct Receiver {
    std::uint32_t flow = 0, packets = 0, hash = 0;
    std::uint32_t all_before = 0, total = 0;
    std::uint32_t unanswered = 0, marked = 0;
    std::uint32_t highest = 0;  ///< one more than the highest number seen
    Ps asked = -1;  ///< when the latest request for an answer was sent: packets sent by then are answered at once
    bool reported = false;                    ///< the current gap has been reported (go back)
    std::uint32_t load = 0;                   ///< HPCC
    std::uint32_t trims = 0;                  ///< headers without payload so far
    std::uint32_t pulled = 0, wanted = 0;     ///< credits granted after the first window; arrivals that ask for one
    std::uint32_t ring_next = kNone32;        ///< in the ring of senders that wait for credits
    std::uint32_t worst = 0, worst_wait = 0;  ///< wire of the longest wait of any packet; ps of it, saturating
    bool queued = false;
    std::uint32_t trimmed = 0;  ///< packets whose payload is still to come. Until then each arrival is answered:
                                ///< headers overtake data, and the sender could wait for data that nothing reports
  };
  enum class PathReport : std::uint8_t { kClean, kMarked, kTrimmed, kLost };
  struct Ring {
    std::uint32_t head = kNone32, tail = kNone32;
  };
  struct Outlet {
    Fifo control;
    Ring ring;                                        ///< lane 0: slots that may send, in turn
    std::vector<std::pair<Ps, std::uint32_t>> paced;  ///< heap of slots that may send at a later time
    std::uint32_t first_wire = 0, wires = 0;          ///< range in Wiring::outlets().values
    std::uint32_t width = 0;                          ///< wires of the machine
    bool armed = false;
    Ps armed_at = 0;                                         ///< time of its pending event
    std::uint32_t pull_head = kNone32, pull_tail = kNone32;  ///< slots whose senders are owed credits, in turn
    Ps next_pull = 0;
    bool pulling = false;
  };

  std::uint32_t source_of(std::uint32_t flow) const {
    return first_source() + static_cast<std::uint32_t>(2 * outlets_.size()) + flow;
  }
  std::uint32_t take_sender(std::uint32_t flow);
  std::uint32_t take_receiver(std::uint32_t flow);
  void let_go_sender(std::uint32_t slot);
  void let_go_receiver(std::uint32_t slot);
  std::uint32_t hash_of(std::uint32_t flow) const;
  std::uint32_t packets_of(std::uint32_t flow) const;
  void start(std::uint32_t flow, Ps now);
  void end_work(std::uint32_t flow, Ps now);
  void end_in_block(std::uint32_t flow, std::uint32_t wire, Ps now);
  void timer(std::uint32_t slot, Ps now);
  void trigger_start(std::uint32_t flow);
  void trigger(std::uint32_t flow, program::FlowTrigger what, Ps now);
  void left(std::uint32_t flow, Ps there);
  std::uint32_t wire_size(const Sender& s, std::uint32_t seq) const;
  Ps time_alone(const Sender& s, std::uint32_t route) const;
  // The short functions that every packet calls several times are always inlined: calls of them cost more than they do.
  [[gnu::always_inline]] bool may_send(std::uint32_t slot) const {
    const Sender& s = senders_[slot];
    if (s.lost == 0 && (s.next == s.packets || s.next - s.all_before >= window_packets())) return false;
    return allowed(s);
  }
  bool needs_answer(std::uint32_t slot) const;
  void offer(std::uint32_t slot, Ps now);
  void put_in_turn(std::uint32_t slot, Ps now);
  void settle(std::uint32_t outlet, Ps now);
  void kick(std::uint32_t outlet, Ps now);
  [[gnu::always_inline]] std::uint32_t free_wire(const Outlet& o) const {
    return o.wires == 1 ? wiring_.outlets().values[o.first_wire] : freest_wire(o);
  }
  [[gnu::noinline]] std::uint32_t freest_wire(const Outlet& o) const;
  /// The time of the outlet's next packet over that wire if nothing changes; kNever if it has nothing to send.
  [[gnu::always_inline]] Ps next_start(const Outlet& o, std::uint32_t wire) const {
    const Port& port = network_->port(wire);
    if (!o.control.empty()) return port.busy;
    if (port.stopped) return kNever;
    if (lanes_ == 1 ? o.ring.head != kNone32 : some_lane_ready(o, wire)) return port.busy;
    return o.paced.empty() ? kNever : std::max(port.busy, o.paced.front().first);
  }
  [[gnu::noinline]] bool some_lane_ready(const Outlet& o, std::uint32_t wire) const;
  [[gnu::noinline]] std::uint32_t next_lane(Outlet& o, std::uint32_t wire);
  std::uint32_t number_of(const Outlet& o) const { return static_cast<std::uint32_t>(&o - outlets_.data()); }
  const Ring& ring_of(const Outlet& o, std::uint32_t lane) const {
    return lane == 0 ? o.ring : more_rings_[std::size_t{number_of(o)} * (lanes_ - 1) + lane - 1];
  }
  Ring& ring_of(Outlet& o, std::uint32_t lane) { return const_cast<Ring&>(std::as_const(*this).ring_of(o, lane)); }
  void count_in_lane(std::uint32_t lane, const Packet& p);
  void send_one(std::uint32_t outlet, std::uint32_t wire, Ps start);
  std::uint32_t pick_sequence(std::uint32_t slot, std::uint8_t& flags);
  static bool take_good(Paths& paths, std::uint32_t& path);
  std::uint32_t next_path(std::uint32_t slot);
  void note_path(std::uint32_t slot, std::uint32_t path, PathReport report);
  void note_used(std::uint32_t slot, const Packet& sent);
  void lost_in_gap(std::uint32_t slot, std::uint32_t seq, Ps now);
  void find_gaps(std::uint32_t slot, std::uint32_t arrived, Ps now);
  void take_data(Id id, Ps now);
  void answer(std::uint32_t slot, const Packet& data, Kind kind, Ps now);
  void answer_again(const Packet& data, Ps now);
  void send_answer(const Receiver& r, const Packet& data, Kind kind, std::uint32_t first, std::uint64_t there, Ps now);
  bool report_gap(std::uint32_t slot, const Packet& data, Ps now);
  void go_back(std::uint32_t slot, std::uint32_t seq);
  void ask(std::uint32_t slot, Ps now);
  bool timed_out(const Sender& s) const;
  static std::uint32_t count_new(Sender& s, std::uint32_t total);
  void take_ack(Id id, Ps now);
  void take_nack(Id id, Ps now);
  void take_pull(Id id, Ps now);
  void want_pull(std::uint32_t slot, Ps now);
  /// Whether its window, or what the receiver has granted, allows a packet.
  [[gnu::always_inline]] bool allowed(const Sender& s) const {
    if (settings_.grants) return s.sends < s.granted;
    return s.outstanding == 0 || (s.outstanding + 1) * settings_.control.packet_bytes <= s.control.window * s.wires;
  }
  /// Packets that a sender may send before its receiver grants any (credit).
  std::uint32_t first_window(std::uint32_t wires) const {
    return wires * static_cast<std::uint32_t>(settings_.control.max_window / settings_.control.packet_bytes);
  }
  void note_beyond(std::uint32_t slot, std::uint32_t first, std::uint64_t there);
  void give_up(std::uint32_t slot, std::uint32_t seq);
  void received(const Packet& last, const Receiver& all, Ps now);
  void finish(std::uint32_t slot, Ps now);
  std::uint64_t* got(std::uint32_t slot) { return &got_[std::size_t{slot} * words_]; }
  std::uint64_t* known(std::uint32_t slot) { return &sent_bits_[std::size_t{slot} * 2 * words_]; }
  std::uint64_t* missing(std::uint32_t slot) { return known(slot) + words_; }
  std::uint32_t window_packets() const { return words_ * 64; }
  std::uint8_t& path_used(std::uint32_t slot, std::uint32_t seq) {
    return used_[std::size_t{slot} * window_packets() + (seq & (window_packets() - 1))];
  }

  const Wiring& wiring_;
  Traffic& traffic_;
  Pool& pool_;
  EventQueue& events_;
  Network<Hosts>* network_ = nullptr;
  const HostSettings settings_;
  const NetworkPart& part_;
  PacketResult& out_;
  std::vector<Outlet> outlets_;
  std::vector<Ring> more_rings_;          ///< per outlet: lanes 1 and up
  std::vector<LaneTurns> turns_;          ///< per outlet; only with several lanes
  std::vector<std::uint32_t> outlet_of_;  ///< per wire
  std::vector<Sender> senders_;           ///< by slot; flows in progress
  std::vector<Receiver> receivers_;
  std::vector<std::uint64_t> sent_bits_, got_;
  std::vector<std::array<std::uint8_t, 64>> penalties_;  ///< per sender, if flows are sprayed: times to pass over
  std::vector<std::uint8_t> used_;                       ///< of each packet of the window: its path, kCopy, kThird
  std::vector<std::uint32_t> free_senders_, free_receivers_;
  std::uint32_t words_ = 4, lanes_ = 1;
  std::uint64_t finished_ = 0, delivered_ = 0, silences_ = 0;
  std::vector<std::uint32_t> block_of_, left_in_block_;  ///< only if blocks were added
  std::vector<EndedBlock> ended_blocks_;
};

}  // namespace busbar::packet
