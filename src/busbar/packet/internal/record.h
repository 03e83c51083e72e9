// The one record of the packet engine, and the pool that holds all of them.
//
// A record lies in exactly one list: that of a wire it is on, of a queue in which it waits, or of the free ones.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/check.h"

namespace busbar::packet {

using Ps = std::int64_t;   ///< picoseconds since the start of the run
using Id = std::uint32_t;  ///< number of a record in the pool
inline constexpr Id kNobody = 0xffff'ffffu;

enum class Kind : std::uint8_t {
  kData,    ///< payload of a flow, or what trimming left of it
  kAck,     ///< what has arrived so far
  kNack,    ///< one packet came without its payload
  kCnp,     ///< congestion notification (RoCE)
  kPull,    ///< the receiver grants a packet
  kPause,   ///< priority flow control: stop
  kResume,  ///< priority flow control: go on
  kCredit,  ///< room has become free in the receiver's buffer
};

enum Flag : std::uint8_t {
  kMarked = 1,   ///< ECN: met a long queue
  kTrimmed = 2,  ///< lost its payload on the way
  kResent = 4,   ///< not the first copy
  kAskAck = 8,   ///< the sender cannot go on without an acknowledgement
  kWhole = 16    ///< cut-through: all of it has come, not only its header
};
inline constexpr int kLaneShift = 5;  ///< the three highest bits of the flags of data are its lane

struct Packet {
  Ps time = 0;               ///< arrival at the far end of the wire; while it waits, when it came
  Id next = kNobody;         ///< in whichever list it lies
  std::uint32_t wire = 0;    ///< it is on, or came by
  std::uint32_t flow = 0;    ///< slot of its flow
  std::uint32_t seq = 0;     ///< number of the packet in its flow; acknowledgements: all before it are there
  std::uint32_t hash = 0;    ///< picks among equal paths; the low six bits name the path to its sender
  std::uint32_t paused = 0;  ///< ps it stood still because of a pause or for want of credits, saturating
  Ps sent = 0;               ///< its first bit left the host; acknowledgements: that of the packet they answer
  Ps travel = 0;             ///< serialisation and propagation so far; acknowledgements: 64 bits of what is there
  std::uint32_t serial = 0;  ///< ps of serialisation so far; acknowledgements: packets there in all
  std::uint32_t worst = 0;   ///< wire before which it waited longest; acknowledgements: marked packets among the new
  std::uint32_t worst_wait = 0;  ///< ps of that wait, saturating; acknowledgements: hash of the packet they answer
  std::uint16_t size = 0;        ///< bytes on the wire
  Kind kind = Kind::kData;
  std::uint8_t flags = 0;
};
static_assert(sizeof(Packet) == 64, "one cache line: growing it slows every hop");

/// Records by number; numbers stay valid while the pool grows. Never shrinks.
class Pool {
 public:
  Packet& operator[](Id id) { return records_[id]; }
  const Packet& operator[](Id id) const { return records_[id]; }
  Id take() {
    if (free_ == kNobody) return grow();
    const Id id = free_;
    free_ = records_[id].next;
    return id;
  }
  void give(Id id) {
    records_[id].next = free_;
    free_ = id;
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(records_.size()); }

 private:
  Id grow() {
    records_.emplace_back();
    return static_cast<Id>(records_.size()) - 1;
  }
  std::vector<Packet> records_;
  Id free_ = kNobody;
};

}  // namespace busbar::packet
