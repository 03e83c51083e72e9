// A server as the user writes it: devices, links between them, and what goes with it by default.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "busbar/spec/optical_switches.h"
#include "busbar/spec/reading.h"
#include "busbar/topology/topology.h"

namespace busbar {

struct NodeFile {
  NodeTemplate node;
  std::vector<std::uint32_t> nics;  ///< places of the NICs that the fabric joins, in order of rails
  std::uint32_t gpus = 0;
  std::string gpu_part;                                   ///< catalogue name of the first GPU, "" when it names none
  std::optional<YamlNode> fabric, protocol, price, hall;  ///< defaults for clusters of this node
  OpticalSwitches ocs;
  bool gpudirect = true;  ///< NICs reach GPU memory; else payloads bounce in host memory
  bool p2p = true;        ///< GPUs without scale-up links reach each other over PCIe; else through host memory
  std::vector<std::string> absent;  ///< device groups with count 0: links that name them are left out
  std::vector<std::pair<std::uint32_t, std::uint32_t>> lane_budgets;  ///< (place, PCIe lanes it has)
};

/// Reads the map of a node. Cost: linear in devices and links.
Result<NodeFile> read_node(const YamlNode& map, Reading& reading);

}  // namespace busbar
