// The wires by which hosts send: which flow has its turn, on which wire, and when.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "busbar/packet/internal/host_run.h"
#include "busbar/packet/internal/lanes.h"
#include "busbar/packet/internal/senders.h"
#include "busbar/packet/internal/slot_ring.h"

namespace busbar::packet {

/// Parallel wires from one host to one switch.
struct Outlet {
  Fifo control;
  SlotRing ring;                                    ///< lane 0: slots that may send, in turn
  std::vector<std::pair<Ps, std::uint32_t>> paced;  ///< heap of slots that may send at a later time
  std::uint32_t first_wire = 0, wires = 0;          ///< range in Wiring::outlets().values
  bool armed = false;
  Ps armed_at = 0;  ///< time of its pending event
};

class Outlets {
 public:
  static constexpr Ps kNever = INT64_MAX;

  Outlets(HostRun& run, Senders& senders);
  Outlet& operator[](std::uint32_t outlet) { return outlets_[outlet]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(outlets_.size()); }
  std::uint32_t of_wire(std::uint32_t wire) const { return outlet_of_[wire]; }
  std::uint32_t lanes() const { return lanes_; }

  /// Puts a slot at the end of its ring, or among those that wait for a later time than `now`.
  void put_in_turn(std::uint32_t outlet, std::uint32_t slot, Ps now);
  /// Takes a paced slot whose time has come by `start`; kNone32 if there is none.
  std::uint32_t take_paced(Outlet& o, Ps start);
  /// Takes the slot whose turn it is on `wire`, and charges its lane for a full packet; kNone32 if there is none.
  std::uint32_t take_turn(std::uint32_t outlet, std::uint32_t wire);
  /// The slot that had its turn in `lane` sends `bytes` less than a full packet.
  void return_turn(std::uint32_t outlet, std::uint32_t lane, std::int64_t bytes) {
    if (lanes_ > 1) turns_[outlet].left[lane] += bytes;
  }
  /// The wire that is free first; a paused one only if all are paused.
  // The short functions that every packet calls several times are always inlined: calls of them cost more than they do.
  [[gnu::always_inline]] std::uint32_t free_wire(const Outlet& o) const {
    return o.wires == 1 ? run_.wiring.outlets().values[o.first_wire] : freest_wire(o);
  }
  /// The time of the outlet's next packet over that wire if nothing changes; kNever if it has nothing to send.
  [[gnu::always_inline]] Ps next_start(const Outlet& o, std::uint32_t wire) const {
    const Port& port = run_.network->port(wire);
    if (!o.control.empty()) return port.busy;
    if (port.stopped) return kNever;
    if (lanes_ == 1 ? !o.ring.empty() : some_lane_ready(o, wire)) return port.busy;
    return o.paced.empty() ? kNever : std::max(port.busy, o.paced.front().first);
  }

 private:
  [[gnu::noinline]] std::uint32_t freest_wire(const Outlet& o) const;
  [[gnu::noinline]] bool some_lane_ready(const Outlet& o, std::uint32_t wire) const;
  [[gnu::noinline]] std::uint32_t next_lane(std::uint32_t outlet, std::uint32_t wire);
  std::uint32_t number_of(const Outlet& o) const { return static_cast<std::uint32_t>(&o - outlets_.data()); }
  const SlotRing& ring_of(const Outlet& o, std::uint32_t lane) const {
    return lane == 0 ? o.ring : more_rings_[std::size_t{number_of(o)} * (lanes_ - 1) + lane - 1];
  }
  SlotRing& ring_of(Outlet& o, std::uint32_t lane) {
    return const_cast<SlotRing&>(std::as_const(*this).ring_of(o, lane));
  }

  HostRun& run_;
  Senders& senders_;
  std::vector<Outlet> outlets_;
  std::vector<SlotRing> more_rings_;      ///< per outlet: lanes 1 and up
  std::vector<LaneTurns> turns_;          ///< per outlet; only with several lanes
  std::vector<std::uint32_t> outlet_of_;  ///< per wire
  std::uint32_t lanes_;
};

}  // namespace busbar::packet
