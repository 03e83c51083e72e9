// The sending side of hosts: cuts flows into packets, sends them when congestion control allows, and resends.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/packet/internal/host_run.h"
#include "busbar/packet/internal/outlets.h"
#include "busbar/packet/internal/senders.h"
#include "busbar/packet/internal/sprayed_paths.h"

namespace busbar::packet {

/// "Settle" an outlet: send every packet whose turn came before a time, each with the time of its turn. "Kick" it:
/// after a change at a time with the past settled, send the packets that can leave at once and schedule the others.
class Sending {
 public:
  explicit Sending(HostRun& run);

  void start(std::uint32_t flow, Ps now);
  /// The flow's timer: if no answer came for a long time, all packets in flight count as lost.
  void timer(std::uint32_t slot, Ps now);
  void take_ack(Id id, Ps now);
  void take_nack(Id id, Ps now);
  void take_pull(Id id, Ps now);
  /// Sends a control record of a flow's receiver, by its outlet, before data.
  void send_control(std::uint32_t outlet, Id id, Ps now);
  /// The event of an outlet.
  void wake(std::uint32_t outlet, Ps now);

  // What the network calls.
  void run_dry(std::uint32_t wire, Ps now);
  void before_pause(std::uint32_t wire, Ps now) { settle(outlets_.of_wire(wire), now); }
  void after_pause(std::uint32_t wire, Ps now);
  /// Sends a control record before all others, on this wire of its outlet and no other.
  void send_first(std::uint32_t wire, Id id, Ps now);
  void foresee(std::uint32_t slot) const { senders_.foresee(slot); }

  void settle_all(Ps now);
  /// Flows that have begun and not ended, in arbitrary order.
  void sample(std::vector<PacketFlowSample>& out) const;
  /// How often a timer found a flow that had neither sent nor heard anything for a timeout, for whatever reason.
  std::uint64_t silences() const { return silences_; }

 private:
  std::uint32_t take_sender(std::uint32_t flow);
  std::uint32_t open_sender(std::uint32_t flow) const;
  void let_go(std::uint32_t slot);
  void begin(Sender& s, std::uint32_t route, Ps now);
  std::uint32_t wire_size(const Sender& s, std::uint32_t seq) const;
  Ps time_alone(const Sender& s, std::uint32_t route) const;
  [[gnu::always_inline]] bool may_send(std::uint32_t slot) const {
    const Sender& s = senders_[slot];
    if (s.lost == 0 && (s.next == s.packets || s.next - s.all_before >= senders_.window_packets())) return false;
    return allowed(s);
  }
  /// Whether its window, or what the receiver has granted, allows a packet.
  [[gnu::always_inline]] bool allowed(const Sender& s) const {
    const HostSettings& settings = run_.settings;
    if (settings.grants) return s.sends < s.granted;
    return s.outstanding == 0 || (s.outstanding + 1) * settings.control.packet_bytes <= s.control.window * s.wires;
  }
  bool needs_answer(std::uint32_t slot) const;
  void offer(std::uint32_t slot, Ps now);
  void settle(std::uint32_t outlet, Ps now);
  void kick(std::uint32_t outlet, Ps now);
  void offer_paced(Outlet& o, Ps start);
  void send_one(std::uint32_t outlet, std::uint32_t wire, Ps start);
  // Parts of one function that every packet runs through: calls of them cost 3 % of a run.
  [[gnu::always_inline]] inline Id make_packet(std::uint32_t slot, Ps start);
  [[gnu::always_inline]] inline void send_data(std::uint32_t slot, Id id, std::uint32_t wire, Ps start);
  void count_in_lane(std::uint32_t lane, const Packet& p);
  void left(std::uint32_t flow, Ps there);
  std::uint32_t next_path(std::uint32_t slot);
  void note_path(std::uint32_t slot, std::uint32_t path, PathReport report) {
    if (run_.settings.spray) paths_.note(slot, senders_[slot].paths, path, report);
  }
  [[gnu::always_inline]] inline void note_ack(std::uint32_t slot, const Packet& ack, Ps now);
  void lost_in_gap(std::uint32_t slot, std::uint32_t seq, Ps now);
  void find_gaps(std::uint32_t slot, std::uint32_t arrived, Ps now);
  void ask(std::uint32_t slot, Ps now);
  bool timed_out(const Sender& s) const;
  void time_out(std::uint32_t slot, Ps now);
  void finish(std::uint32_t slot, Ps now);

  HostRun& run_;
  Senders senders_;
  SprayedPaths paths_;
  Outlets outlets_;
  std::uint64_t silences_ = 0;
};

}  // namespace busbar::packet
