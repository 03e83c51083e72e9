// Software costs on top of the wire: catalog/protocols (per GPU generation) and catalog/transports (per network).
#pragma once

#include "busbar/program/protocol.h"
#include "busbar/spec/reading.h"
#include "busbar/topology/nic_merging.h"

namespace busbar {

/// Reads the map of a protocol over the values of `start`. Its key `fitted` holds a map with the same keys, for values
/// that were fitted to measurements.
Result<ProtocolModel> read_protocol(const YamlNode& map, Reading& reading, ProtocolModel start = {});

/// The costs of sending over a network, unless the protocol sets them, and which NICs are merged.
struct Transport {
  ProtocolModel costs;
  NicMerging merges_nics = NicMerging::kByCard;
};
Result<Transport> read_transport(const YamlNode& map, Reading& reading);

}  // namespace busbar
