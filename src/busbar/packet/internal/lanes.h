// Virtual lanes: data of different priority in queues of its own, and whose turn it is among them.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "busbar/packet/internal/port.h"
#include "busbar/program/flow_list.h"

namespace busbar::packet {

inline constexpr std::uint32_t kMostLanes =
    kMostFlowLanes;  ///< three bits of Packet::flags; as many priorities as Ethernet has
inline constexpr std::uint32_t kNoLane = kMostLanes;

inline std::uint32_t lane_of(const Packet& p) { return p.flags >> kLaneShift; }

/// One lane of a port; only where there are several, else Port itself is the lane.
struct LaneQueue {
  Fifo data;
  std::uint32_t queued = 0;  ///< bytes in `data`
  std::int32_t credits = 0;
  Ps paused_since = 0, paused_until = 0;
  bool stopped = false;
};

/// Where the round over the lanes stands.
struct LaneTurns {
  std::array<std::int64_t, kMostLanes> left{};  ///< bytes that a lane may still send in its turn
  std::uint8_t turn = 0;
  bool granted = false;  ///< the lane whose turn it is has got its share of this round
};

/// The lane that sends next: those of weight 0 first, in their order, then deficit round robin with weight x quantum
/// bytes per round. `head`(l): bytes of the first packet of lane l that may be sent, 0 when there is none; no more than
/// `quantum`. kNoLane when there is none at all.
/// Source: Shreedhar and Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM 1995.
template <class Head>
std::uint32_t pick_lane(LaneTurns& t, std::span<const std::uint32_t> weights, std::uint32_t quantum, Head&& head) {
  bool any = false;
  for (std::uint32_t l = 0; l < weights.size(); ++l) {
    const bool ready = head(l) > 0;
    if (ready && weights[l] == 0) return l;
    any = any || ready;
  }
  if (!any) return kNoLane;
  for (;;) {
    const std::uint32_t l = t.turn;
    const std::int64_t size = weights[l] == 0 ? 0 : head(l);
    if (size == 0) {
      t.left[l] = 0;
    } else {
      if (!t.granted) t.left[l] += std::int64_t{weights[l]} * quantum;
      t.granted = true;
      if (t.left[l] >= size) {
        t.left[l] -= size;
        return l;
      }
    }
    t.turn = static_cast<std::uint8_t>((l + 1) % weights.size());
    t.granted = false;
  }
}

}  // namespace busbar::packet
