#include "busbar/views/curve_drawing.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "busbar/report/chart.h"

namespace busbar::views {

report::Drawing draw_curves(const std::vector<Curve>& curves, const std::string& unit) {
  constexpr double kGridPercent = 20;
  report::Chart chart;
  chart.x = {unit, report::AxisUnit::kCount, true};
  chart.y = {"", report::AxisUnit::kPercent, false, 0, 100};
  std::set<std::uint32_t> marks;
  for (const Curve& c : curves) {
    if (c.mark) continue;
    report::ChartSeries series{c.name, c.colour, {}};
    for (const CurvePoint& p : c.points) {
      series.points.push_back({static_cast<double>(p.x), p.percent, p.text});
      chart.y.high = std::max(chart.y.high, std::ceil(p.percent / kGridPercent) * kGridPercent);
      marks.insert(p.x);
    }
    chart.series.push_back(std::move(series));
  }
  for (const Curve& c : curves)
    if (c.mark)
      chart.series.push_back({.name = c.name,
                              .colour = c.colour,
                              .points = {{double{1} * c.points[0].x, 0}, {double{1} * c.points[0].x, chart.y.high}},
                              .dots = false,
                              .dashed = true});
  return marks.size() < 2 ? report::Drawing{} : report::draw_chart(chart);
}

}  // namespace busbar::views
