// The packet engine's only kind of record, and the pool that holds all records.
//
// A record is in exactly one list: of a wire, of a queue, or of the free records.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/check.h"
#include "busbar/base/id.h"

namespace busbar::packet {

using Ps = std::int64_t;   ///< picoseconds since the start of the run
using Id = std::uint32_t;  ///< number of a record in the pool

/// Starts to fetch the cache line at `at`. The empty assembly keeps it: GCC leaves out calls of functions and lambdas
/// that only prefetch, since it takes them for without effect.
[[gnu::always_inline]] inline void prefetch(const void* at) {
  __builtin_prefetch(at);
  asm volatile("");
}
[[gnu::always_inline]] inline void prefetch_to_write(const void* at) {
  __builtin_prefetch(at, 1);
  asm volatile("");
}

enum class Kind : std::uint8_t {
  kData,    ///< payload of a flow, what trimming left of it, or (seq kNone32) a header that asks for an answer
  kAck,     ///< reports what has arrived so far
  kNack,    ///< one packet came without its payload
  kPull,    ///< the receiver grants a packet
  kPause,   ///< priority flow control: stop
  kResume,  ///< priority flow control: go on
  kCredit,  ///< room in the receiver's buffer has become free
};

enum Flag : std::uint8_t {
  kMarked = 1,   ///< ECN: met a long queue
  kTrimmed = 2,  ///< lost its payload on the way
  kResent = 4,   ///< not the first copy
  kAskAck = 8,   ///< the sender cannot go on without an acknowledgement; in one: it answers a bare request
  kWhole = 16    ///< cut-through: all of it has come, not only its header
};
inline constexpr int kLaneShift = 5;  ///< the three highest bits of the flags of data are its lane

struct alignas(64) Packet {
  Ps time = 0;                   ///< arrival at the far end of the wire; in a queue: when it joined
  Id next = kNone32;             ///< next record in the list it is in
  std::uint32_t wire = 0;        ///< the wire it is on, or came by
  std::uint32_t flow = 0;        ///< slot of its flow
  std::uint32_t seq = 0;         ///< number of the packet in its flow; acknowledgements: all before it have arrived
  std::uint32_t hash = 0;        ///< picks among equal paths; the low six bits name the path to its sender
  std::uint32_t paused = 0;      ///< ps it waited because of pauses or missing credits, saturating
  Ps sent = 0;                   ///< when its first bit left the host; acknowledgements: that of the answered packet
  Ps travel = 0;                 ///< serialisation and propagation so far; acknowledgements: bits of 64 arrived packets
  std::uint32_t serial = 0;      ///< ps of serialisation so far; acknowledgements: number of arrived packets
  std::uint32_t worst = 0;       ///< wire of the longest wait; acknowledgements: marked ones + 2^16 x (first bit - seq)
  std::uint32_t worst_wait = 0;  ///< ps of that wait, saturating; acknowledgements: hash of the answered packet
  std::uint16_t size = 0;        ///< bytes on the wire
  Kind kind = Kind::kData;
  std::uint8_t flags = 0;
};
static_assert(sizeof(Packet) == 64, "one cache line: growing it slows every hop");
static_assert(alignof(Packet) == 64, "else each packet lies in two cache lines");

/// Records by number. Numbers stay valid while the pool grows; it never shrinks.
class Pool {
 public:
  Packet& operator[](Id id) { return records_[id]; }
  const Packet& operator[](Id id) const { return records_[id]; }
  Id take() {
    if (free_ == kNone32) return grow();
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
  Id free_ = kNone32;
};

}  // namespace busbar::packet
