// One small picture per channel: GPUs on a circle per node, and the ring or tree between them.
#pragma once

#include "busbar/cli/rings_report.h"

namespace busbar {

/// Draws the first nodes and channels; the note says what is omitted.
Drawing draw_rings(const RingsView& view);

}  // namespace busbar
