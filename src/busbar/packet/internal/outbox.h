// Packets on their way from one part to another in a run on several threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "busbar/packet/internal/record.h"

namespace busbar::packet {

/// The packets that one part has sent to each other part. There are two sets, used in turn: the sender fills one while
/// the receivers empty the other. So one barrier of the threads per window of time is enough. Packet::time is the
/// arrival time, Packet::wire the wire it arrives on.
class Outbox {
 public:
  explicit Outbox(std::uint32_t parts) {
    for (auto& set : boxes_) set.resize(parts);
  }
  void put(std::uint32_t part, const Packet& p) {
    boxes_[turn_][part].push_back(p);
    earliest_ = std::min(earliest_, p.time);
  }
  /// Begins the sender's next window. Returns the earliest arrival among the packets of the last window, INT64_MAX if
  /// there was none.
  Ps close() {
    const Ps first = earliest_;
    earliest_ = INT64_MAX;
    turn_ ^= 1;
    return first;
  }
  /// The packets sent to `part` in even (0) or odd (1) windows. The receiver empties it before it ends the next window.
  std::vector<Packet>& box(std::uint32_t turn, std::uint32_t part) { return boxes_[turn][part]; }

 private:
  std::array<std::vector<std::vector<Packet>>, 2> boxes_;
  std::uint32_t turn_ = 0;
  Ps earliest_ = INT64_MAX;
};

}  // namespace busbar::packet
