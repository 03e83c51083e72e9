// Why there is no path between two devices.
#pragma once

#include "busbar/base/result.h"
#include "busbar/topology/topology.h"

namespace busbar::routing {

/// kUnreachable: between devices of a server that are some scale-up links apart, with their number.
Error no_path(const topology::Topology& topology, topology::DeviceId from, topology::DeviceId to);

}  // namespace busbar::routing
