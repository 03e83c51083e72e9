// A fabric as the user writes it: what kind, of which network, how wide.
#pragma once

#include <optional>
#include <string>

#include "busbar/spec/reading.h"
#include "busbar/topology/fabric.h"

namespace busbar {

/// What the latency of a cable is made of. A path has every switch and cable once in full, a NIC's two halves at its
/// ends; the other halves are inside the servers.
struct LatencyParts {
  Duration nic, switch_hop;
  Duration frame;  ///< store-and-forward: taking in a whole frame, per switch
  Duration fec;    ///< error correction, per cable
  Duration per_m;
  std::optional<Duration> stated;  ///< of every cable, in place of all of these
};

struct FabricFile {
  FabricSpec spec;
  LatencyParts latency;
  std::string network;  ///< "InfiniBand NDR"; the kind of link where the file names no network
};

/// Reads a map, or the catalogue entry that a name stands for; "none" is the fabric without cables.
Result<FabricFile> read_fabric(const YamlNode& node, Reading& reading);

}  // namespace busbar
