// What would make a step fit, as a table.
#pragma once

#include <vector>

#include "busbar/plan/fit_changes.h"
#include "busbar/report/document.h"

namespace busbar {

Table fit_table(const std::vector<FitChange>& changes);

}  // namespace busbar
