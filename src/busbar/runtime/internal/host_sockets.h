// The sockets between the hosts of a run.
#pragma once

#include "busbar/runtime/host_group.h"
#include "busbar/runtime/internal/tcp_wire.h"

namespace busbar::runtime {

/// Connects to all lower ranks, and waits for all higher ones. Errors: those of HostGroup::join().
Result<Mesh> connect_hosts(const Listener& listener, const HostRun& run);

}  // namespace busbar::runtime
