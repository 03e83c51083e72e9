// What would make a step fit, as JSON and as a table.
#pragma once

#include <vector>

#include "busbar/base/json.h"
#include "busbar/plan/fit_changes.h"
#include "busbar/report/document.h"

namespace busbar {

/// [{what, flags, step_time_s, memory_bytes, capacity_bytes, layout}]
Json fit_changes_json(const std::vector<FitChange>& changes);
Table fit_table(const std::vector<FitChange>& changes);

}  // namespace busbar
