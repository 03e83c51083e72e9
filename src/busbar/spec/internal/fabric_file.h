// A fabric as the user writes it: its kind, its network and its sizes.
#pragma once

#include <string>
#include <vector>

#include "busbar/spec/reading.h"
#include "busbar/topology/cabling.h"
#include "busbar/topology/fabric.h"
#include "busbar/topology/routing_policy.h"

namespace busbar::spec {

struct FabricFile {
  topology::FabricSpec spec;
  std::vector<topology::CablePart> cable_parts;  ///< empty without a fabric
  std::vector<double> power_w;  ///< per tier of spec.levels: of a switch without transceivers; 0: unknown
  Duration per_m;               ///< of cable
  bool in_hall = false;         ///< `cable_m: hall`: lengths follow from the distances between racks
  bool gpudirect = true;        ///< false: TCP, which copies through host memory
  topology::RoutingPolicy routing = topology::RoutingPolicy::kStatic;  ///< unless the cluster sets another
  std::string formerly;               ///< preset with the wiring that this name had in earlier versions
  std::string network;                ///< "InfiniBand NDR"; the kind of link if the file names no network
  std::optional<YamlNode> transport;  ///< software costs of the network: a map or a name in catalog/transports
};

/// Reads a map, or the catalogue entry with the given name; "none" is a fabric without cables.
Result<FabricFile> read_fabric(const YamlNode& node, Reading& reading);

}  // namespace busbar::spec
