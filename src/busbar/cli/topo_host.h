// `busbar topo` without a machine, on a host without GPUs.
#pragma once

#include "busbar/cli/session.h"
#include "busbar/host/host_files.h"

namespace busbar {

bool has_gpu(const HostFiles& files);

/// Says that there is no GPU, and lists NUMA nodes and NICs. Returns the exit status.
Result<int> show_host(const CommonOptions& o, const HostFiles& files);

}  // namespace busbar
