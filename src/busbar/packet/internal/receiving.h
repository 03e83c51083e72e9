// The receiving side of hosts: received packets, answers, grants to senders, and the parts of a flow's time.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/packet/internal/host_run.h"
#include "busbar/packet/internal/sending.h"
#include "busbar/packet/internal/slot_ring.h"

namespace busbar::packet {

struct Receiver {
  std::uint32_t flow = 0, packets = 0, hash = 0;
  std::uint32_t all_before = 0, total = 0;
  std::uint32_t unanswered = 0, marked = 0;
  std::uint32_t highest = 0;  ///< one more than the highest number seen
  Ps asked = -1;          ///< when the latest request for an answer was sent: packets sent by then are answered at once
  bool reported = false;  ///< the current gap has been reported (go back)
  std::uint32_t load = 0;                   ///< HPCC
  std::uint32_t trims = 0;                  ///< headers without payload so far
  std::uint32_t pulled = 0, wanted = 0;     ///< credits granted after the first window; arrivals that ask for one
  std::uint32_t ring_next = kNone32;        ///< in the ring of flows whose senders are owed credits
  std::uint32_t worst = 0, worst_wait = 0;  ///< wire of the longest wait of any packet; ps of it, saturating
  bool queued = false;
  std::uint32_t trimmed = 0;  ///< packets whose payload is still to come. Until then each arrival is answered:
                              ///< headers overtake data, and the sender could wait for data that nothing reports
};

class Receiving {
 public:
  Receiving(HostRun& run, Sending& sending) : run_(run), sending_(sending), words_(run.words), pulls_(run.outlets) {}

  void take_data(Id id, Ps now);
  /// Grants one packet to the sender whose turn it is, at the rate of the host's wire.
  void pull(std::uint32_t outlet, Ps now);
  /// Fetches a slot into the cache; changes nothing.
  void foresee(std::uint32_t slot) const;

 private:
  /// Flows whose senders are owed credits, in turn, by the outlet of their answers.
  struct Pulls {
    SlotRing ring;
    Ps next = 0;
    bool armed = false;
  };
  std::uint32_t take_receiver(std::uint32_t flow);
  void let_go(std::uint32_t slot);
  // Parts of take_data(): calls of them cost 3 % of a run.
  [[gnu::always_inline]] inline void take_payload(std::uint32_t slot, const Packet& p, bool asks, Ps now);
  [[gnu::always_inline]] inline bool note_arrived(std::uint32_t slot, const Packet& p, Ps now);
  bool report_gap(std::uint32_t slot, const Packet& data, Ps now);
  bool report_first(std::uint32_t slot, const Packet& data, Ps now);
  void answer(std::uint32_t slot, const Packet& data, Kind kind, Ps now);
  void answer_again(const Packet& data, Ps now);
  void send_answer(const Receiver& r, const Packet& data, Kind kind, std::uint32_t first, std::uint64_t there, Ps now);
  void received(const Packet& last, const Receiver& all, Ps now);
  void want_pull(std::uint32_t slot, Ps now);
  void grant(Receiver& r, std::uint32_t outlet, Ps now);
  void arm(std::uint32_t outlet, Ps at);
  std::uint64_t* got(std::uint32_t slot) { return &got_[std::size_t{slot} * words_]; }

  HostRun& run_;
  Sending& sending_;
  const std::uint32_t words_;
  std::vector<Receiver> receivers_;
  std::vector<std::uint64_t> got_;  ///< by slot: one bit per packet of the window
  std::vector<std::uint32_t> free_;
  std::vector<Pulls> pulls_;
};

}  // namespace busbar::packet
