#include "busbar/report/heat_legend.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/report/internal/scale.h"
#include "busbar/report/style.h"
#include "busbar/report/text_shape.h"

namespace busbar::report {

double heat_end(double most) { return nice_ceiling(std::min(1.0, most > 0 ? most : 1)); }

double add_heat_legend(std::string_view name, double end, double y, Drawing& d) {
  constexpr double kStep = 22;
  const double right = d.width - 48, left = right - kHeatSteps * kStep;
  d.shapes.push_back(text_shape(left - 38, y + 24, std::string(name), colour::kMuted, Anchor::kEnd));
  d.shapes.push_back(text_shape(left - 6, y + 24, "0 %", colour::kMuted, Anchor::kEnd));
  for (int i = 0; i < kHeatSteps; ++i)
    d.shapes.push_back({Shape::Kind::kRect, left + i * kStep, y + 18, kStep, 12, 0, (i + 0.5) / kHeatSteps});
  d.shapes.push_back(text_shape(right + 6, y + 24, fmt::format("{:.3g} %", 100 * end), colour::kMuted, Anchor::kStart));
  return y + 40;
}

}  // namespace busbar::report
