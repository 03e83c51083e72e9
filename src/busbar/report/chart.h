// Curves, points and bands over two axes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/report/document.h"

namespace busbar::report {

struct ChartPoint {
  double x = 0, y = 0;
  std::string text{};  ///< tool tip
};
struct ChartSeries {
  std::string name{};  ///< in the legend; empty: not there
  int colour = 0;      ///< palette index (style.h)
  std::vector<ChartPoint> points{};
  bool line = true, dots = true, dashed = false;
  double thickness = 0;  ///< of the line; 0: as usual
};
/// The space between two curves.
struct ChartRange {
  double x = 0, low = 0, high = 0;
};
struct ChartBand {
  std::string name{};
  int colour = 0;
  std::vector<ChartRange> ranges{};
};

/// What the numbers of an axis are: labels are "1 KiB", "12 us", "40 %" or plain numbers. kCount: whole numbers that
/// usually double.
enum class AxisUnit : std::uint8_t { kNumber, kCount, kBytes, kSeconds, kPercent };
struct ChartAxis {
  std::string title{};
  AxisUnit unit = AxisUnit::kNumber;
  bool log = false;          ///< values must be above 0; others are left out
  double low = 0, high = 0;  ///< equal: from the data, and from 0 on a linear axis
};
struct Chart {
  std::string title{}, description{}, note{};
  ChartAxis x{}, y{};
  std::vector<ChartBand> bands{};
  std::vector<ChartSeries> series{};
  bool square = false;  ///< as high as wide, for predicted against measured
};

/// Axes with ticks, the bands, then the series in their order, and a legend above. Points that are not finite or, on a
/// logarithmic axis, not above 0, are left out. Fewer than two points in all: an empty drawing.
Drawing draw_chart(const Chart& chart);

}  // namespace busbar::report
