// The machine as a table: what a byte crosses on its way out of a GPU, and how wide each level is.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar {

/// One level, per GPU and per direction.
struct Level {
  std::string name;  ///< "hbm", "scale-up", "c2c", "pcie", "nic", "leaf", "spine", "core"
  double wire_GBps = 0;
  double payload_GBps = 0;  ///< wire x efficiency x health
  Duration latency;         ///< one way to a peer whose farthest level this is; 0 for HBM: not modelled
  std::string note;         ///< what the figures count
  double ratio = 0;         ///< how many times narrower (wire) than the level before; 0 for the first
};

/// Levels from the inside out, those that exist. HBM, scale-up and PCIe are those of the first GPU; NIC and fabric are
/// the sum of all live cables divided by the number of GPUs: what each gets when all send at once.
std::vector<Level> machine_levels(const Topology& topology);

/// How many devices there are of each kind, kinds in the order of DeviceKind, absent ones left out.
/// A switch chip that shows two levels counts once.
std::vector<std::pair<DeviceKind, std::uint32_t>> device_counts(const Topology& topology);

/// HBM of all GPUs.
Bytes total_memory(const Topology& topology);

/// GPUs that reach each other over scale-up links alone, and the HBM they have together.
struct ScaleUpDomain {
  std::uint32_t gpus = 0;
  Bytes memory{0};
  double ports_GBps = 0;  ///< scale-up ports of all its GPUs, one direction, wire
};
/// The domain of the first GPU; one GPU alone where it has no such links. Links to CPUs do not count.
ScaleUpDomain scale_up_domain(const Topology& topology);

}  // namespace busbar
