// Efficiency by size of the machine, as a curve.
#pragma once

#include <vector>

#include "busbar/report/document.h"
#include "busbar/step/scale_run.h"

namespace busbar::views {

/// Weak or strong scaling: tokens per second and GPU relative to the smallest size, and the share of exposed
/// communication in a step. GPUs double from mark to mark. With fewer than two sizes: an empty drawing.
report::Drawing draw_scaling(const step::ScaleRun& run, bool weak);

/// All runs relative to the smallest size of the first, and the ideal.
report::Drawing draw_scalings(const std::vector<step::ScaleRun>& runs, bool weak);

}  // namespace busbar::views
