// Cuts a run into parts for threads: each node of the network belongs to one part.
//
// Only cables with a latency are cut. An event in one part affects another no sooner than the shortest such latency, so
// a part may run that far ahead. Hosts stay with the switch they are attached to. Flows that start when others end stay
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

/// The part that hosts and switches work for.
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

/// At most `wanted` parts with about equal numbers of wires; fewer if there are fewer separate groups of hosts. Call it
/// after `wiring` is sealed. Cost: one pass over wires and flows.
NetworkSplit split_network(const Wiring& wiring, const program::FlowList& list,
                           const std::vector<std::uint32_t>& routes, std::uint32_t wanted);

/// The same for as many threads as make a run of `hops` packet-hops shorter.
NetworkSplit split_where_it_pays(const Wiring& wiring, const program::FlowList& list,
                                 const std::vector<std::uint32_t>& routes, double hops);

}  // namespace busbar::packet
