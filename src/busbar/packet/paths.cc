// Sprayed flows: which of the paths the next packet takes, by what earlier packets met on them.
//
// Paths are taken in turn. A path with a penalty is passed over, once per point, for one that brought a packet through
// unmarked, once per such answer. After the first trimmed or lost packet such proven paths come before the turn.
// Sources: Bonato et al., "REPS: Recycled entropies for packet spraying", 2024; the penalties are those of Ultra
// Ethernet's reference simulator, htsim (2025).
#include <bit>

#include "busbar/packet/internal/bits.h"
#include "busbar/packet/internal/hosts.h"

namespace busbar::packet {
namespace {

constexpr std::uint8_t kForMark = 1, kForTrim = 4, kMostPenalty = 15;
constexpr std::uint8_t kDead = 255;  ///< not taken again unless all paths are dead

constexpr std::uint32_t kLeastGap = 8;  ///< packets

}  // namespace

/// The next path after `path` that brought an answer without a mark.
bool Hosts::take_good(Paths& paths, std::uint32_t& path) {
  if (paths.good == 0) return false;
  const std::uint32_t after = (path + 1) & 63;
  path = (after + static_cast<std::uint32_t>(std::countr_zero(std::rotr(paths.good, static_cast<int>(after))))) & 63;
  paths.good &= ~(std::uint64_t{1} << path);
  return true;
}

/// The bits of a packet's hash that pick among equal paths.
std::uint32_t Hosts::next_path(std::uint32_t slot) {
  Sender& s = senders_[slot];
  if (!settings_.spray) return s.hash;
  Paths& paths = s.paths;
  if (paths.trouble && take_good(paths, s.path)) return (s.hash & ~63u) | s.path;
  for (int tries = 0; tries < kPathTries; ++tries) {
    s.path = paths.turn = (paths.turn + kPathStep * (64 / settings_.paths)) & 63;
    const std::uint64_t bit = std::uint64_t{1} << s.path;
    if ((paths.bad & bit) == 0) break;
    std::uint8_t& penalty = penalties_[slot][s.path];
    if (penalty != kDead && --penalty == 0) paths.bad &= ~bit;
    if (take_good(paths, s.path)) break;
  }
  return (s.hash & ~63u) | s.path;
}

/// Notes what an answer says about the path of the answered packet.
void Hosts::note_path(std::uint32_t slot, std::uint32_t path, PathReport report) {
  if (!settings_.spray) return;
  Paths& paths = senders_[slot].paths;
  const std::uint64_t bit = std::uint64_t{1} << path;
  std::uint8_t& penalty = penalties_[slot][path];
  const bool bad = (paths.bad & bit) != 0;
  if (bad && penalty == kDead) return;
  if (report == PathReport::kClean) {
    paths.bad &= ~bit;
    paths.good |= bit;
    return;
  }
  paths.good &= ~bit;
  paths.bad |= bit;
  paths.trouble = paths.trouble || report != PathReport::kMarked;
  if (report == PathReport::kLost) {
    penalty = kDead;
    if (++paths.dead == settings_.paths) paths = Paths{.turn = paths.turn};  // rather any path than none
    return;
  }
  const int more = (bad ? penalty : 0) + (report == PathReport::kMarked ? kForMark : kForTrim);
  penalty = static_cast<std::uint8_t>(std::min<int>(kMostPenalty, more));
}

void Hosts::note_used(std::uint32_t slot, const Packet& sent) {
  std::uint8_t& used = path_used(slot, sent.seq);
  const std::uint8_t copy = (sent.flags & kResent) == 0 ? 0 : used & (kCopy | kThird) ? kThird : kCopy;
  used = static_cast<std::uint8_t>(senders_[slot].path | copy);
}

void Hosts::lost_in_gap(std::uint32_t slot, std::uint32_t seq, Ps now) {
  Sender& s = senders_[slot];
  note_path(slot, path_used(slot, seq) & 63, PathReport::kLost);
  give_up(slot, seq);
  ++s.granted;  // its credit comes back to the sender
  if (s.outstanding > 0) --s.outstanding;
  on_loss(s.control, settings_.control, now, wire_size(s, seq), s.outstanding * settings_.control.packet_bytes);
}

/// Paths that reorder give no proof of a loss, but a packet that a window of later ones has overtaken is lost. Its copy
/// leaves about a window later, and is lost if three windows have overtaken it. `arrived`: packets after all_before
/// that have arrived.
void Hosts::find_gaps(std::uint32_t slot, std::uint32_t arrived, Ps now) {
  Sender& s = senders_[slot];
  const auto window = static_cast<std::uint32_t>(s.control.window * s.wires / settings_.control.packet_bytes);
  const std::uint32_t gap = std::clamp(window, kLeastGap, settings_.gap_packets);
  if (arrived < gap) return;
  const auto open = [&](std::uint32_t seq) {
    return !test(known(slot), words_, seq) && !test(missing(slot), words_, seq);
  };
  if (s.all_before + 3 * settings_.gap_packets < s.seen && (path_used(slot, s.all_before) & kCopy) != 0 &&
      open(s.all_before))
    lost_in_gap(slot, s.all_before, now);
  for (std::uint32_t seq = std::max(s.all_before, s.gaps_before); seq + gap < s.seen; ++seq) {
    s.gaps_before = seq + 1;
    if ((path_used(slot, seq) & (kCopy | kThird)) == 0 && open(seq)) lost_in_gap(slot, seq, now);
  }
}

}  // namespace busbar::packet
