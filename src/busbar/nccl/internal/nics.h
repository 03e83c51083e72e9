// Which NICs of a block NCCL takes as one network device.
#pragma once

#include <vector>

#include "busbar/nccl/settings.h"
#include "busbar/topology/topology.h"

namespace busbar {

struct NicGroup {
  std::vector<DeviceId> ports;  ///< by device; the first stands for the group
  bool sums_pcie = false;       ///< the network device has the PCIe links of all ports, not of the first alone
  std::uint32_t raised = 1;     ///< the plugin counts the first port's PCIe link up to so many times
};

/// NICs with a live cable, in groups, by their first port. NicMerging::kByCard: as NCCL fuses NICs; kByGpu: as
/// aws-ofi-nccl does, whose groups are those of the GPUs: NICs that no GPU has next to it are in none.
/// Source: NVIDIA NCCL, src/graph/topo.cc (2.24 and later) and src/transport/net_ib.cc (2.20 to 2.23); aws-ofi-nccl,
/// src/nccl_ofi_topo.cpp.
std::vector<NicGroup> group_nics(const Topology& topology, const Block& block, const NcclSettings& settings);

/// Wire rate of the live cables that leave a NIC's block, in GB/s.
double cabled_GBps(const Topology& topology, DeviceId nic);

}  // namespace busbar
