// Flows that send, each in a slot of its own, with what has become of each of their packets.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/packet/internal/bits.h"
#include "busbar/packet/internal/control.h"
#include "busbar/packet/internal/sprayed_paths.h"

namespace busbar::packet {

struct Sender {
  std::uint32_t flow = 0, packets = 0, next = 0;  ///< next: first packet that was never sent
  std::uint32_t acked = 0, all_before = 0;        ///< packets known to have arrived: their number; all before this one
  std::uint32_t outstanding = 0, lost = 0;        ///< packets in flight; packets to repeat
  std::uint32_t hash = 0;
  std::uint32_t ring_next = kNone32;
  std::uint32_t wires = 1;  ///< parallel wires of its outlet: window and rate are those of one wire times this
  std::uint32_t sends = 0, granted = 0;  ///< all copies; how many are allowed (credit)
  std::uint32_t pulls = 0;               ///< how many of these the receiver has granted
  bool queued = false, done = false;
  bool unasked = false;  ///< its last packet asked for no answer
  std::uint8_t lane = 0;
  std::uint32_t seen = 0;         ///< one more than the highest packet known to have arrived
  std::uint32_t gaps_before = 0;  ///< packets before this one are not looked for in gaps any more
  Paths paths;
  Ps clock = 0;  ///< its last transmission or answer, whichever came later: its timeout counts from here
  Ps new_done = 0;
  Control control;
};

class Senders {
 public:
  /// `words`: of one bit per packet of a window; a power of two.
  explicit Senders(std::uint32_t words) : words_(words) {}
  Sender& operator[](std::uint32_t slot) { return senders_[slot]; }
  const Sender& operator[](std::uint32_t slot) const { return senders_[slot]; }
  const std::vector<Sender>& all() const { return senders_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(senders_.size()); }
  std::uint32_t window_packets() const { return words_ * 64; }

  /// A slot without a past; at most one more than there were.
  std::uint32_t take();
  void give(std::uint32_t slot) { free_.push_back(slot); }

  /// Whether a packet of the window, which is not among the first `all_before`, is known to have arrived.
  bool arrived(std::uint32_t slot, std::uint32_t seq) const { return test(known(slot), words_, seq); }
  /// Whether it must be sent again.
  bool missing(std::uint32_t slot, std::uint32_t seq) const { return test(gone(slot), words_, seq); }
  /// The packet must be sent again.
  void give_up(std::uint32_t slot, std::uint32_t seq);
  /// All packets from `seq` on that were sent must be sent again.
  void go_back(std::uint32_t slot, std::uint32_t seq);
  /// All packets in flight must be sent again.
  void give_up_flight(std::uint32_t slot);
  /// All packets before `seq` have arrived.
  void note_all_before(std::uint32_t slot, std::uint32_t seq);
  /// `there` has one bit for each of 64 packets from `first` on. Those that have arrived need not be sent again.
  void note_beyond(std::uint32_t slot, std::uint32_t first, std::uint64_t there);
  /// Counts arrivals; `total`: of all copies. Returns how many are new.
  static std::uint32_t count_new(Sender& s, std::uint32_t total);
  /// The packet that the sender sends next; the first to be repeated, or a new one.
  std::uint32_t pick_sequence(std::uint32_t slot, std::uint8_t& flags);
  /// Fetches a slot into the cache; changes nothing.
  void foresee(std::uint32_t slot) const;

 private:
  const std::uint64_t* known(std::uint32_t slot) const { return &bits_[std::size_t{slot} * 2 * words_]; }
  std::uint64_t* known(std::uint32_t slot) { return &bits_[std::size_t{slot} * 2 * words_]; }
  const std::uint64_t* gone(std::uint32_t slot) const { return known(slot) + words_; }
  std::uint64_t* gone(std::uint32_t slot) { return known(slot) + words_; }

  std::vector<Sender> senders_;
  std::vector<std::uint64_t> bits_;  ///< by slot: arrived, to be repeated
  std::vector<std::uint32_t> free_;
  std::uint32_t words_;
};

}  // namespace busbar::packet
