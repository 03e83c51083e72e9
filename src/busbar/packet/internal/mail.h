// Packets on their way from one part of a run on several threads to another.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "busbar/packet/internal/record.h"

namespace busbar::packet {

/// What one part has sent to each other part. Two sets in turn: one is filled while the receivers empty the other, so
/// that one meeting of the threads per window of time is enough. Packet::time says when it arrives, Packet::wire where.
class Mail {
 public:
  explicit Mail(std::uint32_t parts) {
    for (auto& set : boxes_) set.resize(parts);
  }
  void put(std::uint32_t part, const Packet& p) {
    boxes_[turn_][part].push_back(p);
    earliest_ = std::min(earliest_, p.time);
  }
  /// Begins the next window, of which only the sender takes notice; returns when the first packet of the last one
  /// arrives, INT64_MAX when there was none.
  Ps close() {
    const Ps first = earliest_;
    earliest_ = INT64_MAX;
    turn_ ^= 1;
    return first;
  }
  /// What was put for `part` in even (0) or odd (1) windows; its receiver empties it before it ends the next window.
  std::vector<Packet>& box(std::uint32_t turn, std::uint32_t part) { return boxes_[turn][part]; }

 private:
  std::array<std::vector<std::vector<Packet>>, 2> boxes_;
  std::uint32_t turn_ = 0;
  Ps earliest_ = INT64_MAX;
};

}  // namespace busbar::packet
