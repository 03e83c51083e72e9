// Which NICs of a block NCCL merges into one network device.
#pragma once

#include <span>
#include <vector>

#include "busbar/nccl/settings.h"
#include "busbar/topology/topology.h"

namespace busbar::nccl {

struct NicGroup {
  std::vector<topology::DeviceId> ports;  ///< ordered by device; the first represents the group
  bool sums_pcie = false;    ///< whether the network device counts the PCIe links of all ports, not only the first
  std::uint32_t raised = 1;  ///< the plugin counts the first port's PCIe link up to this many times
};

/// The NICs among `devices` (ascending) with a live cable, in groups ordered by their first port. NicMerging::kByCard
/// groups as NCCL fuses NICs; kByGpu as aws-ofi-nccl does, by the GPU next to the NICs: a NIC without such a GPU is in
/// no group. Source: NVIDIA NCCL, src/graph/topo.cc (2.24 and later) and src/transport/net_ib.cc (2.20 to 2.23);
/// aws-ofi-nccl, src/nccl_ofi_topo.cpp.
std::vector<NicGroup> group_nics(const topology::Topology& topology, std::span<const topology::DeviceId> devices,
                                 const NcclSettings& settings);

/// Wire rate in GB/s of a NIC's live cables that leave its block.
double cabled_GBps(const topology::Topology& topology, topology::DeviceId nic);

}  // namespace busbar::nccl
