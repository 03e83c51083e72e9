// The tiers that a byte crosses.
#pragma once

#include <vector>

#include "busbar/report/document.h"
#include "busbar/topology/levels.h"

namespace busbar::views {

report::Table level_table(const std::vector<topology::Level>& levels);

}  // namespace busbar::views
