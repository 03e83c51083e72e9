// What the software adds to the wire: catalog/protocols (per GPU generation) and catalog/transports (per network).
#pragma once

#include <string>

#include "busbar/program/protocol.h"
#include "busbar/spec/reading.h"
#include "busbar/topology/nic_merging.h"

namespace busbar {

/// The map of a protocol, over what `start` says. Its key `fitted` holds a map with the same keys: those that were
/// fitted to measurements.
Result<ProtocolModel> read_protocol(const YamlNode& map, Reading& reading, ProtocolModel start = {});

/// What sends over a network cost where the protocol does not say, and which NICs they take together.
struct Transport {
  ProtocolModel costs;
  NicMerging merges_nics = NicMerging::kByCard;
};
Result<Transport> read_transport(const YamlNode& map, Reading& reading);

}  // namespace busbar
