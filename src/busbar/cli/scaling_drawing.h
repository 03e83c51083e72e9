// Efficiency over the size of the machine, as a curve.
#pragma once

#include "busbar/cli/train_scale.h"
#include "busbar/report/document.h"

namespace busbar {

/// Weak or strong scaling: tokens per second and GPU against the smallest size, and what of a step communication takes
/// that nothing hides. GPUs double from mark to mark. Fewer than two sizes: an empty drawing.
Drawing draw_scaling(const ScaleRun& run, bool weak);

}  // namespace busbar
