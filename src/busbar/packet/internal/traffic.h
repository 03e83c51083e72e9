// The flows of a run and their state, shared by all parts of a run on several threads.
//
// Thread rules: each member is either constant while packets are under way, or, per flow, touched by one side only. The
// sending side touches waits_for, ready, sender_of, and the fields of its outcome that finish() and sending write. The
// receiving side touches receiver_of, and the fields of its outcome that received() writes. The two sides of a flow may
// be in different parts; only packets carry information between them.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/packet/internal/wiring.h"
#include "busbar/packet/packet_list.h"

namespace busbar::packet {

inline constexpr std::uint32_t kOver = kNone32 - 1;  ///< in sender_of, receiver_of: this flow's state is released

struct Traffic {
  /// `list` and `routes` (per flow) must outlive this object; flows may be appended to both later.
  Traffic(const Wiring& wiring, const program::FlowList& list, const std::vector<std::uint32_t>& routes);
  /// Adds the last flows of the list, which are new, with their dependencies.
  void add(const Csr<std::uint32_t>& after, const Csr<std::uint32_t>& added_successors);
  std::uint32_t size() const { return static_cast<std::uint32_t>(waits_for.size()); }

  const Wiring& wiring;
  const program::FlowList& list;
  const std::vector<std::uint32_t>& routes;
  std::vector<Leg> legs;  ///< per flow: both directions
  Csr<std::uint32_t> successors;
  std::vector<std::uint32_t> waits_for;               ///< number of flows that must end before
  std::vector<Ps> ready;                              ///< earliest start
  std::vector<std::uint32_t> sender_of, receiver_of;  ///< slots; kNone32 before, kOver after
  std::vector<PacketOutcome> outcomes;

 private:
  void add_flow(std::uint32_t flow, std::size_t waits);
};

}  // namespace busbar::packet
