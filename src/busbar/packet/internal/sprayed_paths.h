// Sprayed flows: which of the paths the next packet takes, by what earlier packets met on them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "busbar/packet/internal/record.h"

namespace busbar::packet {

inline constexpr std::uint32_t kPathStep = 37;  ///< odd: it visits all 64 paths, and consecutive ones lie far apart

enum class PathReport : std::uint8_t { kClean, kMarked, kTrimmed, kLost };

/// What a sprayed flow knows about its paths, one bit for each.
struct Paths {
  std::uint64_t good = 0, bad = 0;   ///< to be taken again, each once; with a penalty
  std::uint32_t turn = 0, dead = 0;  ///< the last one taken in turn; number of paths that lost a packet
  std::uint32_t at = 0;              ///< the last one taken
  bool trouble = false;              ///< a packet was trimmed or lost
};

/// Penalties of paths, and the paths of packets, by slot of a sender. `paths`: per flow, a power of two, at most 64.
class SprayedPaths {
 public:
  static constexpr std::uint8_t kCopy = 64, kThird = 128;  ///< the second copy of a packet; a later one

  SprayedPaths(std::uint32_t paths, std::uint32_t window) : paths_(paths), window_(window) {}
  /// Room for one more slot.
  void add_slot();
  /// The path of the slot's next packet.
  std::uint32_t next(std::uint32_t slot, Paths& known);
  /// Notes what an answer says about the path of the answered packet.
  void note(std::uint32_t slot, Paths& known, std::uint32_t path, PathReport report);
  void note_used(std::uint32_t slot, std::uint32_t path, const Packet& sent);
  /// The path of a packet of the window, with kCopy or kThird.
  std::uint8_t& used(std::uint32_t slot, std::uint32_t seq) {
    return used_[std::size_t{slot} * window_ + (seq & (window_ - 1))];
  }

 private:
  static bool take_good(Paths& known);
  std::uint32_t paths_, window_;                         ///< window_: packets, a power of two
  std::vector<std::array<std::uint8_t, 64>> penalties_;  ///< by slot: times to pass over
  std::vector<std::uint8_t> used_;                       ///< by slot, of each packet of the window
};

}  // namespace busbar::packet
