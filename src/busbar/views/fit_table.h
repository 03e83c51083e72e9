// What would make a step fit, as a table.
#pragma once

#include <vector>

#include "busbar/plan/fit_changes.h"
#include "busbar/report/document.h"

namespace busbar::views {

report::Table fit_table(const std::vector<plan::FitChange>& changes);

}  // namespace busbar::views
