// Collectives stage by stage, as amounts that move between the tiers of a machine.
#pragma once

#include <vector>

#include "busbar/questions/collective_tiers.h"
#include "busbar/report/document.h"

namespace busbar::views {

/// The first course is the choice, with which the others are compared. Without panes if there is none.
report::Motion draw_tier_courses(const std::vector<questions::TierCourse>& courses);

}  // namespace busbar::views
