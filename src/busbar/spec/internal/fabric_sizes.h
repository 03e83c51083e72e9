// The size of a fabric as the user writes it: the keys that do not concern its cables.
#pragma once

#include "busbar/spec/reading.h"
#include "busbar/topology/fabric.h"

namespace busbar::spec {

/// oversubscription, parallel (one number, or one per tier), leaf_down, nic_order, tiers, planes, plane_order, split,
/// dragonfly, dims.
Status read_fabric_sizes(MapReader& reader, topology::FabricSpec& spec);

}  // namespace busbar::spec
