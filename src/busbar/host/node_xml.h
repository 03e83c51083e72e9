// This host as NCCL's topology file.
#pragma once

#include <string>

#include "busbar/host/host_files.h"

namespace busbar::host {

/// NUMA nodes, PCIe switches, GPUs and NICs (RDMA devices, or Ethernet where there are none) as NCCL writes them to
/// NCCL_TOPO_DUMP_FILE. NVLinks are left out; the reader adds those of boards that it knows.
/// Source: NVIDIA NCCL 2.30.7, src/graph/xml.cc (which bridges appear: the root port and every second one do not).
std::string node_xml(const HostFiles& files);

}  // namespace busbar::host
