// The tiers that a byte crosses.
#pragma once

#include <vector>

#include "busbar/report/document.h"
#include "busbar/topology/levels.h"

namespace busbar {

Table level_table(const std::vector<Level>& levels);

}  // namespace busbar
