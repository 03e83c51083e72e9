// How a run is cut into parts for threads: each node of the network belongs to one part.
//
// Only cables with a latency are cut, so that a part learns of what others do no sooner than the shortest of them
// takes: it may run so far ahead. Hosts stay with the switch they hang on, and flows that start when others end stay
// with the host at which those end.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/packet/internal/wiring.h"
#include "busbar/program/flow_list.h"

namespace busbar::packet {

struct NetworkSplit {
  std::uint32_t parts = 1;
  Ps lookahead = INT64_MAX;         ///< latency of the shortest cable between two parts
  std::vector<std::uint16_t> part;  ///< per node; empty when there is one part

  std::uint32_t of(std::uint32_t node) const { return part.empty() ? 0 : part[node]; }
};

/// What one part is to its hosts and switches.
struct NetworkPart {
  const NetworkSplit* split = nullptr;  ///< none: everything is one part
  std::uint32_t number = 0;

  bool owns(std::uint32_t node) const { return split == nullptr || split->of(node) == number; }
  bool sends(const Wiring& wiring, const Leg& leg) const { return split == nullptr || owns(home(wiring, leg)); }
  /// The node at which a leg begins.
  static std::uint32_t home(const Wiring& wiring, const Leg& leg) {
    return wiring.wires()[wiring.outlets().row(leg.outlet).front()].from;
  }
};

/// At most `wanted` parts of about equally many wires, fewer where fewer groups of hosts can be told apart. Call it
/// when `wiring` is sealed. Cost: one pass over wires and flows.
NetworkSplit split_network(const Wiring& wiring, const FlowList& list, const std::vector<std::uint32_t>& routes,
                           std::uint32_t wanted);

}  // namespace busbar::packet
