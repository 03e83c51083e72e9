// The scale of loads below a picture.
#pragma once

#include <string_view>

#include "busbar/report/document.h"

namespace busbar::report {

/// Where a scale for loads up to `most` (0..1) ends: at the busiest, rounded up, so that loads differ.
double heat_end(double most);

/// "busy over the step 0 % [scale] 40 %" at the right of the picture, from `y` down. Returns the y below it.
double add_heat_legend(std::string_view name, double end, double y, Drawing& drawing);

}  // namespace busbar::report
