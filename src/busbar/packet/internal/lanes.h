// Virtual lanes: data of different priorities in separate queues, and the choice of the lane that sends next.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "busbar/packet/internal/port.h"
#include "busbar/program/flow_list.h"

namespace busbar::packet {

inline constexpr std::uint32_t kMostLanes =
    program::kMostFlowLanes;  ///< three bits of Packet::flags; as many priorities as Ethernet has
inline constexpr std::uint32_t kNoLane = kMostLanes;

inline std::uint32_t lane_of(const Packet& p) { return p.flags >> kLaneShift; }

/// One lane of a port. Used only if there are several lanes; otherwise Port itself is the lane.
struct LaneQueue {
  Fifo data;
  std::uint32_t queued = 0;  ///< bytes in `data`
  std::int32_t credits = 0;
  Ps paused_since = 0, paused_until = 0, paused = 0;  ///< the last pause; sum of all
  std::uint32_t marks = 0, trims = 0, drops = 0, pauses = 0;
  bool stopped = false;
};

/// State of the round over the lanes.
struct LaneTurns {
  std::array<std::int64_t, kMostLanes> left{};  ///< bytes that a lane may still send in its turn
  std::uint8_t turn = 0;
  bool granted = false;  ///< the current lane has received its share of this round
};

/// The lane that sends next. Lanes of weight 0 come first, in their order. The others follow by deficit round robin,
/// with weight x quantum bytes per round. `head`(l) is the size in bytes of the first packet of lane l that may be
/// sent, at most `quantum`; 0 if there is none. Returns kNoLane if no lane may send.
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
