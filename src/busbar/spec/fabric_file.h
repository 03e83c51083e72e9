// A fabric as the user writes it: what kind, of which network, how wide.
#pragma once

#include <string>
#include <vector>

#include "busbar/spec/reading.h"
#include "busbar/topology/cabling.h"
#include "busbar/topology/fabric.h"
#include "busbar/topology/routing_policy.h"

namespace busbar {

struct FabricFile {
  FabricSpec spec;
  std::vector<CablePart> cable_parts;  ///< empty where there is no fabric
  std::vector<double> power_w;         ///< of a switch of each tier without transceivers; 0: not known; as spec.levels
  Duration per_m;                      ///< of cable
  bool in_hall = false;                ///< `cable_m: hall`: lengths are those between the racks
  bool gpudirect = true;               ///< false: TCP, which copies through host memory
  RoutingPolicy routing = RoutingPolicy::kStatic;  ///< unless the cluster says otherwise
  std::string network;  ///< "InfiniBand NDR"; the kind of link where the file names no network
  std::optional<YamlNode> transport;  ///< what sends over the network cost: a map or a name in catalog/transports
};

/// Reads a map, or the catalogue entry that a name stands for; "none" is the fabric without cables.
Result<FabricFile> read_fabric(const YamlNode& node, Reading& reading);

}  // namespace busbar
