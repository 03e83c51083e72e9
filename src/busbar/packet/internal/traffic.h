// The flows of a run and what is known of each: shared by all parts of a run on several threads.
//
// Thread rules: everything here is either never changed while packets fly, or, per flow, touched by one side alone.
// What the sending side touches: waits_for, ready, sender_of, and of its outcome what finish() and sending write. What
// the receiving side touches: receiver_of, and of its outcome what received() writes. A flow's two sides may be
// different parts of the machine; word passes between them only in packets.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/packet/internal/wiring.h"
#include "busbar/packet/packet_list.h"

namespace busbar::packet {

inline constexpr std::uint32_t kOver = kNobody - 1;  ///< in sender_of, receiver_of: nothing more to keep of this flow

struct Traffic {
  /// `list` and `routes` (per flow) must outlive this; more may be appended to them later.
  Traffic(const Wiring& wiring, const FlowList& list, const std::vector<std::uint32_t>& routes);
  /// More flows, the last ones of the list, with their waits for each other.
  void add(const Csr<std::uint32_t>& after, const Csr<std::uint32_t>& added_successors);
  std::uint32_t size() const { return static_cast<std::uint32_t>(waits_for.size()); }

  const Wiring& wiring;
  const FlowList& list;
  const std::vector<std::uint32_t>& routes;
  std::vector<Leg> legs;  ///< per flow: there and back
  Csr<std::uint32_t> successors;
  std::vector<std::uint32_t> waits_for;               ///< flows that have to end before
  std::vector<Ps> ready;                              ///< no start before then
  std::vector<std::uint32_t> sender_of, receiver_of;  ///< slots; kNobody before, kOver after
  std::vector<PacketOutcome> outcomes;

 private:
  void add_flow(std::uint32_t flow, std::size_t waits);
};

}  // namespace busbar::packet
