// The layouts of a plan as a map of TP x PP.
#pragma once

#include "busbar/plan/plan_run.h"
#include "busbar/report/document.h"

namespace busbar::views {

/// A cell for each TP and PP that the machine allows: coloured by the step of the fastest layout that was timed,
/// hatched where none fits, empty where none was timed because it cannot be faster, or cannot run. One cell: an empty
/// drawing.
report::Drawing draw_degrees(const plan::PlanRun& run);

}  // namespace busbar::views
