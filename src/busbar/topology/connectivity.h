// Checks that every GPU can reach every other one.
#pragma once

#include "busbar/base/result.h"
#include "busbar/topology/topology.h"

namespace busbar::topology {

/// Error kUnreachable names the first GPU that is cut off, and the remedy. All GPUs must touch one connected set of
/// other devices, or GPUs that forward traffic (to a peer, or to the NIC next to them) must connect them. This check
/// allows any number of forwarding GPUs; the Router knows the limit and may refuse a pair. Cost: O(devices + links).
Status check_connected(const Topology& topology);

}  // namespace busbar::topology
