// A server as the user writes it: devices, links between them, and what goes with it by default.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/spec/reading.h"
#include "busbar/topology/topology.h"

namespace busbar {

struct NodeFile {
  NodeTemplate node;
  std::vector<std::uint32_t> nics;  ///< places of the NICs that the fabric joins, in order of rails
  std::uint32_t gpus = 0;
  std::string gpu_part;                             ///< catalogue name of the first GPU, "" when it names none
  std::optional<YamlNode> fabric, protocol, price;  ///< defaults for clusters of this node
};

/// Reads the map of a node. Cost: linear in devices and links.
Result<NodeFile> read_node(const YamlNode& map, Reading& reading);

}  // namespace busbar
