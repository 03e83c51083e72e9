// Percentages over sizes that double, as curves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/report/document.h"

namespace busbar::views {

struct CurvePoint {
  std::uint32_t x = 1;  ///< above 0
  double percent = 0;
  std::string text;  ///< tool tip
};
struct Curve {
  std::string name;
  int colour = 0;  ///< palette index (style.h)
  std::vector<CurvePoint> points;
  bool mark = false;  ///< only a vertical line at its first point
};

/// Axes, curves with a dot per point, and their names; fills width, height and shapes. `unit` is the unit of x. The x
/// axis is logarithmic. If all x are equal: an empty drawing.
report::Drawing draw_curves(const std::vector<Curve>& curves, const std::string& unit);

}  // namespace busbar::views
