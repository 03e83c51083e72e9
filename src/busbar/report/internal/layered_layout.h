// Where the boxes of a LayeredDrawing stand.
#pragma once

#include <cstddef>
#include <vector>

#include "busbar/report/layered_drawing.h"

namespace busbar {

inline constexpr double kLayeredLetter = 12;  ///< size of the letters

struct Box {
  double x = 0, y = 0, w = 0, h = 0;
  double middle() const { return x + w / 2; }
  double right() const { return x + w; }
  double bottom() const { return y + h; }
};

/// A frame and what it holds. `collapsed`: the nodes are not drawn one by one and share the frame as their box.
struct PlacedGroup {
  Box frame;
  std::vector<std::uint32_t> nodes;
  std::size_t lines = 1;
  bool collapsed = false;
};
struct PlacedLayer {
  Box area;  ///< frames included
  bool framed = false;
  std::vector<Box> boxes;  ///< per node
  std::vector<PlacedGroup> groups;
};
struct Placed {
  std::vector<PlacedLayer> layers;
  double width = 0, height = 0, left = 0;
};

/// About how wide `text` is in letters of `size` user units.
double text_width(const std::string& text, double size);

/// For every layer its nodes from left to right: each as near as may be to what it is linked to above it, else below;
/// ties, the first layer and framed layers keep the given order.
std::vector<std::vector<std::uint32_t>> order_nodes(const LayeredDrawing& drawing);

/// `edges_below[i]`: edges between layer i and the next: more of them, more room.
Placed place(const LayeredDrawing& drawing, const LayeredOptions& options, const std::vector<std::size_t>& edges_below);

}  // namespace busbar
