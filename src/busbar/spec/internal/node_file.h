// A server as the user writes it: devices, the links between them, and defaults.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "busbar/spec/optical_switches.h"
#include "busbar/spec/reading.h"
#include "busbar/topology/topology.h"

namespace busbar::spec {

struct NodeFile {
  topology::NodeTemplate node;
  std::vector<std::uint32_t> nics;  ///< indices of the NICs on the fabric, in order of rails
  std::uint32_t gpus = 0;
  std::string gpu_part;                                   ///< catalogue name of the first GPU, "" if it has none
  std::optional<YamlNode> fabric, protocol, price, hall;  ///< defaults for clusters of this node
  OpticalSwitches ocs;
  bool gpudirect = true;  ///< NICs access GPU memory directly; otherwise payloads go through host memory
  bool p2p = true;        ///< GPUs without scale-up links reach each other over PCIe; otherwise through host memory
  std::vector<std::string> absent;  ///< device groups with count 0; links that name them are left out
  std::vector<std::pair<std::uint32_t, std::uint32_t>> lane_budgets;  ///< (index, number of PCIe lanes)
};

/// Reads the map of a node. Cost: linear in devices and links.
Result<NodeFile> read_node(const YamlNode& map, Reading& reading);

}  // namespace busbar::spec
