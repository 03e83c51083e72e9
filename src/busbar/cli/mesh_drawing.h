// GPUs that are joined without a switch: a ring of boxes and the links between them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "busbar/report/document.h"
#include "busbar/topology/topology.h"

namespace busbar {

/// Whether some GPUs of the block are joined directly, and few enough (256) to see which.
bool can_draw_mesh(const Topology& topology, BlockId block);

/// The GPUs of a block in a ring, first at the upper left, clockwise; thicker lines stand for more lanes, and a colour
/// for each number of lanes. Above 24 GPUs they stand in rows, as in a torus, and links longer than a step are left
/// out. `utilisation`: per directed link, 0..1; empty: no heat.
Drawing draw_mesh(const Topology& topology, BlockId block, std::span<const double> utilisation);

/// Switches that are joined to each other, as in a dragonfly or a torus, likewise: in a ring, in rows, or, where they
/// come in groups of which each is a full mesh, the groups in a ring with the cables between them counted, over the
/// first group. Empty where none is joined to another or where there are more of them than can be told apart (256, or
/// 24 groups).
Drawing draw_switches(const Topology& topology, const std::vector<DeviceId>& switches,
                      std::span<const double> utilisation);

/// `lower` under `upper` as one picture with the title of `lower`.
Drawing stack(Drawing upper, Drawing lower);

}  // namespace busbar
