// The machine as pictures: one server's inside and the fabric above it, with link loads as heat.
#pragma once

#include <span>

#include "busbar/report/document.h"
#include "busbar/topology/topology.h"

namespace busbar {

/// Inside of one block: switches above GPUs, PCIe switches, NICs and sockets below; links straight from GPU to GPU,
/// where there are any, as a ring of their own above all. `utilisation`: per directed link, 0..1; empty: no heat. A
/// line shows the busier of its two directions.
Drawing draw_node(const Topology& topology, BlockId block, std::span<const double> utilisation);

/// Spines over leaves over blocks; cables between the same two ends are one line. Empty fabric: an empty drawing.
Drawing draw_fabric(const Topology& topology, std::span<const double> utilisation);

}  // namespace busbar
