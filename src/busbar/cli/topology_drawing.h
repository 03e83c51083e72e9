// The machine as pictures: the inside of one server and the fabric, with link loads as heat colours.
#pragma once

#include <span>

#include "busbar/report/document.h"
#include "busbar/topology/topology.h"

namespace busbar {

/// Inside of one block: switches above GPUs; PCIe switches, NICs and sockets below. Direct links between GPUs are drawn
/// as a ring above all of this. `utilisation`: per directed link, 0..1; empty: no heat colours. A line shows the busier
/// of its two directions.
Drawing draw_node(const Topology& topology, BlockId block, std::span<const double> utilisation);

/// Spines above leaves above blocks; cables between the same two ends are one line. Without a fabric: an empty drawing.
Drawing draw_fabric(const Topology& topology, std::span<const double> utilisation);

}  // namespace busbar
