// What NCCL's variables make of a machine.
#pragma once

#include <span>
#include <string>

#include "busbar/nccl/settings.h"
#include "busbar/spec/cluster.h"

namespace busbar {

/// NCCL's settings on `cluster`: as the machine is, then as the variables ("NCCL_NVLS_ENABLE=0") say, in order. What
/// they turn off is turned off for the whole cluster, so that routes and costs agree with the settings:
///  - sockets: the network costs what TCP does over ports of that rate (catalog/networks, catalog/transports), and
///    payloads go through host memory;
///  - NCCL_NET_GDR_LEVEL: payloads go through host memory where every GPU has its nearest NIC farther away;
///  - NCCL_P2P_LEVEL, NCCL_P2P_DISABLE: GPUs meet in host memory where all that reach each other by that kind of link
///    are farther apart.
/// Errors: those of parse_nccl_setting.
Result<NcclSettings> apply_nccl_environment(Cluster& cluster, NcclVersion version,
                                            std::span<const std::string> variables);

}  // namespace busbar
