// Can every GPU reach every other one?
#pragma once

#include "busbar/base/result.h"
#include "busbar/topology/topology.h"

namespace busbar {

/// Error kUnreachable names the first GPU that is cut off and the remedy. A GPU does not pass traffic on for others, so
/// all GPUs must touch one and the same web of other devices, or, where there are only GPUs, be joined among each
/// other. Cost: O(devices + links).
Status check_connected(const Topology& topology);

}  // namespace busbar
