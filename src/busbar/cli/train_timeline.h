// The timeline of a predicted step as a picture.
#pragma once

#include <string>

#include "busbar/cli/train_run.h"
#include "busbar/report/document.h"

namespace busbar {

/// Spans of [from_s, to_s). In the gaps of compute rows stands what the GPU waits for: communication in the colour of
/// its purpose, other stages in the colour of idle time.
TimelineView timeline_view(const TrainRun& run, std::string title, double from_s, double to_s);

}  // namespace busbar
