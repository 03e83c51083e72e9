// The timeline of a predicted step as a picture.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "busbar/report/document.h"
#include "busbar/step/train_run.h"

namespace busbar::views {

/// Spans of [from_s, to_s). In the gaps of compute rows stands what the GPU waits for: communication in the colour of
/// its purpose, other stages in the colour of idle time.
report::TimelineView timeline_view(const step::TrainRun& run, std::string title, double from_s, double to_s);

/// One layer: from where `label` starts in a row of compute to where it starts again, with the rows of that stage. In
/// the second half of the step where that is possible, and of usual length: layers at the ends of micro-batches wait
/// for others. Nothing where there are fewer than three.
std::optional<report::TimelineView> layer_view(const step::TrainRun& run, std::string title, std::string_view label);

}  // namespace busbar::views
