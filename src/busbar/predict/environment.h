// The effect of NCCL's variables on a machine.
#pragma once

#include <span>
#include <string>

#include "busbar/nccl/settings.h"
#include "busbar/spec/cluster.h"

namespace busbar::predict {

/// NCCL's settings on `cluster`: the machine's own, then the variables ("NCCL_NVLS_ENABLE=0") in order. A feature that
/// they turn off is turned off in the whole cluster, so that routes and costs agree with the settings:
///  - sockets: the network has the costs of TCP over ports of that rate (catalog/networks, catalog/transports), and
///    payloads go through host memory;
///  - NCCL_NET_GDR_LEVEL: payloads go through host memory if the nearest NIC of every GPU is farther away;
///  - NCCL_P2P_LEVEL, NCCL_P2P_DISABLE: GPUs exchange through host memory if all pairs connected by this kind of link
///    are farther apart.
/// Errors: those of parse_nccl_setting.
Result<nccl::NcclSettings> apply_nccl_environment(spec::Cluster& cluster, nccl::NcclVersion version,
                                                  std::span<const std::string> variables);

}  // namespace busbar::predict
