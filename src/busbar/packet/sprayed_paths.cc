// Paths are taken in turn. A path with a penalty is passed over, once per point, for one that brought a packet through
// unmarked, once per such answer. After the first trimmed or lost packet such proven paths come before the turn.
// Sources: Bonato et al., "REPS: Recycled entropies for packet spraying", 2024; the penalties are those of Ultra
// Ethernet's reference simulator, htsim (2025).
#include "busbar/packet/internal/sprayed_paths.h"

#include <algorithm>
#include <bit>

namespace busbar::packet {
namespace {

constexpr int kPathTries = 64;  ///< paths with a penalty that a packet passes over
constexpr std::uint8_t kForMark = 1, kForTrim = 4, kMostPenalty = 15;
constexpr std::uint8_t kDead = 255;  ///< not taken again unless all paths are dead

}  // namespace

void SprayedPaths::add_slot() {
  penalties_.emplace_back();
  used_.resize(used_.size() + window_);
}

/// The next path after the last one that brought an answer without a mark.
bool SprayedPaths::take_good(Paths& known) {
  if (known.good == 0) return false;
  const std::uint32_t after = (known.at + 1) & 63;
  known.at =
      (after + static_cast<std::uint32_t>(std::countr_zero(std::rotr(known.good, static_cast<int>(after))))) & 63;
  known.good &= ~(std::uint64_t{1} << known.at);
  return true;
}

std::uint32_t SprayedPaths::next(std::uint32_t slot, Paths& known) {
  if (known.trouble && take_good(known)) return known.at;
  for (int tries = 0; tries < kPathTries; ++tries) {
    known.at = known.turn = (known.turn + kPathStep * (64 / paths_)) & 63;
    const std::uint64_t bit = std::uint64_t{1} << known.at;
    if ((known.bad & bit) == 0) break;
    std::uint8_t& penalty = penalties_[slot][known.at];
    if (penalty != kDead && --penalty == 0) known.bad &= ~bit;
    if (take_good(known)) break;
  }
  return known.at;
}

void SprayedPaths::note(std::uint32_t slot, Paths& known, std::uint32_t path, PathReport report) {
  const std::uint64_t bit = std::uint64_t{1} << path;
  std::uint8_t& penalty = penalties_[slot][path];
  const bool bad = (known.bad & bit) != 0;
  if (bad && penalty == kDead) return;
  if (report == PathReport::kClean) {
    known.bad &= ~bit;
    known.good |= bit;
    return;
  }
  known.good &= ~bit;
  known.bad |= bit;
  known.trouble = known.trouble || report != PathReport::kMarked;
  if (report == PathReport::kLost) {
    penalty = kDead;
    if (++known.dead == paths_) known = Paths{.turn = known.turn, .at = known.at};  // rather any path than none
    return;
  }
  const int more = (bad ? penalty : 0) + (report == PathReport::kMarked ? kForMark : kForTrim);
  penalty = static_cast<std::uint8_t>(std::min<int>(kMostPenalty, more));
}

void SprayedPaths::note_used(std::uint32_t slot, std::uint32_t path, const Packet& sent) {
  std::uint8_t& at = used(slot, sent.seq);
  const std::uint8_t copy = (sent.flags & kResent) == 0 ? 0 : at & (kCopy | kThird) ? kThird : kCopy;
  at = static_cast<std::uint8_t>(path | copy);
}

}  // namespace busbar::packet
