// The physical topology that ASTRA-sim passes to ns-3: nodes, which of them are switches, and links one by one.
// Source of the format: astra-sim/astra-sim, examples/network/ns3/topology.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/formats/imported.h"

namespace busbar::formats {

struct Ns3Link {
  std::uint32_t from = 0, to = 0;
  BytesPerSecond rate{};  ///< per direction
  Duration latency;
};
struct Ns3Topology {
  std::vector<bool> is_switch;  ///< by node; nodes that are not switches are NPUs
  std::vector<Ns3Link> links;
  std::vector<UnknownPart> unknown;
};
bool looks_like_ns3_topology(std::string_view head);

/// Error if a count does not match, an end of a link is no node, or a part is not connected to the rest.
Result<Ns3Topology> read_ns3_topology(std::string_view text, const std::string& name);

/// NPUs as GPUs in the order of their nodes.
Result<ImportedMachine> machine_of(const Ns3Topology& topology);

}  // namespace busbar::formats
