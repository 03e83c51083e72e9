// Positions of the boxes of a LayeredDrawing.
#pragma once

#include <cstddef>
#include <vector>

#include "busbar/report/layered_drawing.h"

namespace busbar::report {

inline constexpr double kLayeredLetter = 12;  ///< size of the letters

struct Box {
  double x = 0, y = 0, w = 0, h = 0;
  double middle() const { return x + w / 2; }
  double right() const { return x + w; }
  double bottom() const { return y + h; }
};

/// A frame and its contents. `collapsed`: the nodes are not drawn singly and share the frame as their box.
struct PlacedGroup {
  Box frame;
  std::vector<std::uint32_t> nodes;
  std::size_t lines = 1;
  bool collapsed = false;
};
struct PlacedLayer {
  Box area;  ///< including frames
  bool framed = false;
  std::vector<Box> boxes;  ///< per node
  std::vector<PlacedGroup> groups;
};
struct Placed {
  std::vector<PlacedLayer> layers;
  double width = 0, height = 0, left = 0;
};

/// Approximate width of `text` in letters of `size` user units.
double text_width(const std::string& text, double size);

/// The nodes of every layer from left to right. Each node is as near as possible to its neighbours in the layer above,
/// or, without such neighbours, to those below. Ties, the first layer and framed layers keep the given order.
std::vector<std::vector<std::uint32_t>> order_nodes(const LayeredDrawing& drawing);

/// `edges_below[i]`: number of edges between layer i and the next; more edges get more room.
Placed place(const LayeredDrawing& drawing, const LayeredOptions& options, const std::vector<std::size_t>& edges_below);

}  // namespace busbar::report
