// Can every GPU reach every other one?
#pragma once

#include "busbar/base/result.h"
#include "busbar/topology/topology.h"

namespace busbar {

/// Error kUnreachable names the first GPU that is cut off and the remedy. Either all GPUs touch one and the same web of
/// other devices, or GPUs that pass traffic on (to a peer, or to the NIC beside them) join them. How far a GPU may pass
/// on is the Router's to say: it refuses a pair that this check still lets through. Cost: O(devices + links).
Status check_connected(const Topology& topology);

}  // namespace busbar
