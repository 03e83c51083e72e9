// GPUs that are joined without a switch: a ring of boxes and the links between them.
#pragma once

#include <cstdint>
#include <span>

#include "busbar/report/document.h"
#include "busbar/topology/topology.h"

namespace busbar {

/// Whether some GPUs of the block are joined directly, and few enough (256) to see which.
bool can_draw_mesh(const Topology& topology, BlockId block);

/// The GPUs of a block in a ring, first at the upper left, clockwise; thicker lines stand for more lanes, and a colour
/// for each number of lanes. Above 24 GPUs they stand in rows, as in a torus, and links longer than a step are left
/// out. `utilisation`: per directed link, 0..1; empty: no heat.
Drawing draw_mesh(const Topology& topology, BlockId block, std::span<const double> utilisation);

/// `lower` under `upper` as one picture with the title of `lower`.
Drawing stack(Drawing upper, Drawing lower);

}  // namespace busbar
