// Network devices of a host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/host/host_files.h"

namespace busbar::host {

struct HostNic {
  std::string name;            ///< "mlx5_0" with RDMA, otherwise "eth0"
  std::string pci;             ///< bus id; empty for virtual devices
  std::string state;           ///< "ACTIVE", "up"
  std::string layer;           ///< "InfiniBand", "Ethernet"
  std::uint64_t rate_bps = 0;  ///< of the port; 0: unknown
  int numa_node = -1;
  bool rdma = false;
};

/// RDMA devices (port 1), then network interfaces of devices without RDMA; no purely virtual ones.
std::vector<HostNic> host_nics(const HostFiles& files);

}  // namespace busbar::host
