// Software costs on top of the wire: catalog/protocols (per GPU generation) and catalog/transports (per network).
#pragma once

#include "busbar/program/protocol.h"
#include "busbar/spec/reading.h"
#include "busbar/topology/nic_merging.h"

namespace busbar::spec {

/// Reads the map of a protocol over the values of `start`. Its key `fitted` holds a map with the same keys, for values
/// that were fitted to measurements.
Result<program::ProtocolModel> read_protocol(const YamlNode& map, Reading& reading, program::ProtocolModel start = {});

/// The costs of sending over a network, unless the protocol sets them, and which NICs are merged.
struct Transport {
  program::ProtocolModel costs;
  topology::NicMerging merges_nics = topology::NicMerging::kByCard;
};
Result<Transport> read_transport(const YamlNode& map, Reading& reading);

}  // namespace busbar::spec
