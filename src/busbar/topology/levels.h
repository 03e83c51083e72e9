// The machine as a table: what a byte crosses on its way out of a GPU, and how wide each level is.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar {

/// One level, per GPU and per direction.
struct Level {
  std::string name;  ///< "hbm", "scale-up", "pcie", "nic", "leaf", "spine", "core"
  double wire_GBps = 0;
  double payload_GBps = 0;  ///< wire x efficiency x health
  Duration latency;         ///< one way to a peer whose farthest level this is; 0 for HBM: not modelled
  std::string note;         ///< what the figures count
};

/// Levels from the inside out, those that exist. HBM, scale-up and PCIe are those of the first GPU; NIC and fabric are
/// the sum of all live cables divided by the number of GPUs: what each gets when all send at once.
std::vector<Level> machine_levels(const Topology& topology);

/// How many devices there are of each kind, kinds in the order of DeviceKind, absent ones left out.
std::vector<std::pair<DeviceKind, std::uint32_t>> device_counts(const Topology& topology);

/// HBM of all GPUs.
Bytes total_memory(const Topology& topology);

}  // namespace busbar
