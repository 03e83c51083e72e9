// Collectives message by message, as chunks that move over the drawn machine.
#pragma once

#include <vector>

#include "busbar/questions/collective_course.h"
#include "busbar/report/document.h"

namespace busbar::views {

/// A pane with its name and its end, and nothing that moves yet.
report::MotionPane named_pane(const predict::Prediction& row);
/// The first course is the choice, with which the others are compared. Without panes if it
/// has too many ways to draw. Pre: there is one; all are of one call.
report::Motion draw_courses(const std::vector<questions::CollectiveCourse>& courses,
                            const topology::Topology& topology);

}  // namespace busbar::views
