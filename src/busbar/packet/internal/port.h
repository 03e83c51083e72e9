// The sending end of a wire: the packets that wait for it, and the time at which it is free.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "busbar/packet/internal/record.h"

namespace busbar::packet {

/// Records in order of arrival, linked by Packet::next.
struct Fifo {
  Id head = kNone32, tail = kNone32;

  bool empty() const { return head == kNone32; }
  void push(Pool& pool, Id id) {
    pool[id].next = kNone32;
    Id& last = empty() ? head : pool[tail].next;
    last = id;
    tail = id;
  }
  void push_front(Pool& pool, Id id) {
    pool[id].next = head;
    if (empty()) tail = id;
    head = id;
  }
  Id pop(const Pool& pool) {
    const Id id = head;
    head = pool[id].next;
    return id;
  }
};

/// How fast a wire is. Most wires of a machine share a few of these.
struct Speed {
  Ps latency = 0;
  std::uint32_t ps_bytes = 1, bytes = 1;  ///< as in Wire: ps_bytes / bytes picoseconds a byte

  Ps transfer(std::uint32_t size) const {
    const std::uint64_t ps = std::uint64_t{size} * ps_bytes;
    return static_cast<Ps>(bytes == 1 ? ps : (ps + bytes - 1) / bytes);
  }
  bool operator==(const Speed&) const = default;
};

/// Two classes: control packets (acknowledgements, trimmed packets, pause frames) go before data and are never paused.
/// The first cache line holds the members that a hop needs, the second those of pauses, credits and faults.
struct alignas(64) Port {
  Ps busy = 0;  ///< the wire is free from here on
  std::uint64_t sent_bytes = 0;
  std::uint32_t to : 26 = 0;         ///< node at the far end
  std::uint32_t host : 1 = 0;        ///< belongs to a host, which keeps its own queues
  std::uint32_t stopped : 1 = 0;     ///< data must wait: paused
  std::uint32_t cut : 1 = 0;         ///< records on it arrive with their header: network_ways.h
  std::uint32_t troubled : 1 = 0;    ///< it has or will have a fault: network_faults.h
  std::uint32_t armed : 1 = 0;       ///< the end of the current packet is a pending event
  std::uint32_t remote : 1 = 0;      ///< its far end belongs to another part: network_parts.h
  std::uint32_t speed = 0;           ///< number in Network's list
  std::uint32_t queued = 0;          ///< bytes of waiting data, without the packet being sent
  std::uint32_t peak = 0;            ///< most bytes that ever waited
  std::uint32_t queued_control = 0;  ///< bytes of waiting control packets
  Fifo flying;                       ///< records on the wire, in order of arrival
  Fifo control, data;

  std::uint32_t serving_from = 0;  ///< if sending can block: the wire by which the data packet being sent came
  std::uint16_t serving = 0;       ///< its bytes
  std::uint8_t serving_lane = 0;   ///< its lane
  std::uint32_t marks = 0, trims = 0, drops = 0, pauses = 0;
  Ps paused_since = 0, paused_until = 0, paused = 0;  ///< the last pause; sum of all pauses
  std::int32_t credits = 0;                           ///< bytes of room left at the far end
  std::uint32_t load = 0;                             ///< HPCC: load of the wire, in 2^-20
};
static_assert(sizeof(Port) == 128, "two cache lines: ports are touched once per hop");

/// Queue lengths that arriving packets found, without empty queues. Steps of half an octave from 64 bytes up.
struct alignas(64) QueueHistogram {
  static constexpr std::uint32_t kSteps = 32;
  std::array<std::uint32_t, kSteps> count{};

  void add(std::uint32_t bytes) { ++count[step(bytes)]; }
  static std::uint32_t step(std::uint32_t bytes) {
    const std::uint32_t x = bytes >> 5;
    if (x < 2) return 0;
    const auto log = static_cast<std::uint32_t>(31 - __builtin_clz(x));
    return std::min<std::uint32_t>(kSteps - 1, 2 * log - 1 + (x >> (log - 1) & 1));
  }
  /// The largest length of a step. Percentiles report it.
  static std::uint64_t upper(std::uint32_t step) {
    if (step == 0) return 0;
    const std::uint32_t log = (step + 1) / 2;
    return (std::uint64_t{(step & 1) ? 3u : 4u} << (log - 1) << 5) - 1;
  }
};

}  // namespace busbar::packet
