// GPUs and NICs that share the way from a CPU: a root port, or the topmost PCIe switch.
#pragma once

#include <vector>

#include "busbar/topology/topology.h"

namespace busbar::topology {

/// All its devices share the rate of one link towards the CPU.
struct PcieRoot {
  DeviceId top{};  ///< the port or switch below the CPU; or the GPU or NIC itself, if nothing lies between
  std::vector<DeviceId> gpus, nics;
  bool shared() const { return gpus.size() + nics.size() > 1; }
};

/// Every GPU and NIC of the block is in one root. Order: as in block_tree(). Cost: O(links of the block).
std::vector<PcieRoot> pcie_roots(const Topology& topology, BlockId block);

/// The NICs of `roots` that serve GPUs: those with a cable; without cables those that share a root with a GPU, or all
/// if none does.
std::vector<DeviceId> gpu_nics(const Topology& topology, const std::vector<PcieRoot>& roots);

}  // namespace busbar::topology
