// The lines and bands of a LayeredDrawing. Only for lay_out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "busbar/report/internal/layered_layout.h"
#include "busbar/report/text_shape.h"

namespace busbar::report {

/// Edges by (upper layer, lower layer); `from` is the upper end.
using EdgesByLayers = std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<LayeredEdge>>;

/// Leaves out edges that have an end that does not exist.
EdgesByLayers sort_edges(const LayeredDrawing& drawing);

/// Every edge as a separate line. Lines that pass other layers go through the gaps between their boxes.
std::vector<Shape> draw_lines(const Placed& placed, const std::vector<LayeredEdge>& edges);

struct Bands {
  std::vector<Shape> shapes;
  std::vector<Shape> labels;  ///< drawn over everything else
};
/// One band per pair of groups, in the colour of its mean load. Links above that load are lines on the band.
Bands draw_bands(const LayeredDrawing& drawing, const Placed& placed, const std::vector<LayeredEdge>& edges);

/// The stroke of an edge from one point to another.
Shape stroke_shape(const LayeredEdge& edge, Shape::Kind kind, double x, double y, double to_x, double to_y);

}  // namespace busbar::report
