// What a run shows while it goes on: samples at equal intervals of time, and the events of chosen flows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "busbar/base/units.h"
#include "busbar/topology/link.h"

namespace busbar::packet {

/// A link at a time. Sums count from the start of the run, queues are of the time itself.
struct PacketLinkSample {
  topology::LinkId link{};
  std::uint64_t sent_bytes = 0, queue_bytes = 0;
  Duration paused;
  std::uint32_t marks = 0, trims = 0, drops = 0, pauses = 0;
};
/// A flow that has begun and not ended, at a time.
struct PacketFlowSample {
  std::uint32_t flow = 0, packets = 0;                 ///< packets: acknowledged so far
  std::uint64_t acked_bytes = 0, in_flight_bytes = 0;  ///< payload acknowledged so far; bytes with headers
  double window_bytes = 0;
  double pace_bytes_per_s = 0;  ///< the rate of its control; 0: as fast as the wire
};
/// Samples a run. `look` gets all wires in a fixed order, and flows in arbitrary order.
struct PacketSeries {
  Duration every{};  ///< 0: never
  std::function<void(SimTime, std::span<const PacketLinkSample>, std::span<const PacketFlowSample>)> look{};
};

enum class PacketEvent : std::uint8_t {
  kStarted,
  kSent,
  kResent,
  kQueued,  ///< it joins a queue of a switch, or finds it empty
  kMarked,
  kTrimmed,
  kDropped,
  kReceived,
  kAcked,  ///< an acknowledgement has come back
  kNacked,
  kTimeout,
  kEnded
};
const char* name_of(PacketEvent event);
struct PacketLogEntry {
  SimTime at;
  std::uint32_t flow = 0;
  PacketEvent event{};
  std::uint32_t packet = 0;                         ///< its number in its part; of kAcked: all before it have arrived
  topology::LinkId link = kNone<topology::LinkId>;  ///< of kQueued, kMarked, kTrimmed, kDropped
  std::uint64_t queue_bytes = 0;                    ///< of the same events: bytes that wait there, before it
  double window_bytes = 0;                          ///< of kAcked, kNacked, kTimeout
  std::uint32_t part = 0;  ///< with several queue pairs: which of the flow's parts, each of which starts and ends
};
/// Logs the events of some flows. Entries come in the order in which the run decides them, which is not always that of
/// their times.
struct PacketLog {
  std::vector<std::uint32_t> flows;  ///< numbers; none: no log
  std::function<void(const PacketLogEntry&)> take{};
};

}  // namespace busbar::packet
