// GPUs linked without a switch: a ring of boxes and the links between them.
#pragma once

#include <span>
#include <vector>

#include "busbar/report/document.h"
#include "busbar/topology/topology.h"

namespace busbar::views {

/// Whether some GPUs of the block are linked directly, and there are few enough (256) to draw.
bool can_draw_mesh(const topology::Topology& topology, topology::BlockId block);

/// The GPUs of a block in a ring, first at the upper left, clockwise. Line thickness and colour show the number of
/// lanes. More than 24 GPUs are in rows, as in a torus, without links longer than a step. `shades`: per directed
/// link, 0..1 on the heat scale; empty: no heat colours.
report::Drawing draw_mesh(const topology::Topology& topology, topology::BlockId block, std::span<const double> shades);

/// The same for switches that are linked to each other, as in a dragonfly or a torus: in a ring or in rows. If
/// they form groups that are full meshes, the groups are in a ring with the number of cables between them,
/// above the first group. Empty if no switches are linked, or if there are too many to draw (256, or 24
/// groups).
report::Drawing draw_switches(const topology::Topology& topology, const std::vector<topology::DeviceId>& switches,
                              std::span<const double> shades);

/// `lower` below `upper` as one picture with the title of `lower`.
report::Drawing stack(report::Drawing upper, report::Drawing lower);

}  // namespace busbar::views
