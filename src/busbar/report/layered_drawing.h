// Rows of boxes and the lines between them: a server's inside, a fabric's tiers. Knows no domain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "busbar/report/document.h"
#include "busbar/report/style.h"

namespace busbar {

struct LayeredNode {
  std::string label{};      ///< a word: "gpu3"
  int colour = 0;           ///< palette index
  double heat = -1;         ///< load of its busiest link, 0..1, as a strip in the box; < 0: none
  std::string tip{};        ///< tool tip; empty: the label
  std::uint32_t group = 0;  ///< index into Layer::groups; nodes of a group stand together
};

/// One row, top to bottom. `groups` names the frames; with fewer than two entries nothing is framed.
struct Layer {
  std::string title{};  ///< at the left: "leaf switches"
  std::vector<LayeredNode> nodes{};
  std::vector<std::string> groups{};
};

struct LayeredEnd {
  std::uint32_t layer = 0, node = 0;
};
/// A cable or a pair of directed links; the caller decides what `heat` of the two is shown.
struct LayeredEdge {
  LayeredEnd from{}, to{};
  double heat = -1;
  double thickness = 1.5;
  std::string tip{};
  std::uint32_t links = 1;  ///< that the line stands for
};

struct LayeredDrawing {
  std::string title{}, description{}, note{};
  std::vector<Layer> layers{};
  std::vector<LayeredEdge> edges{};
  std::string heat_name = "link load";  ///< in the legend
};

struct LayeredOptions {
  double width = kDrawingWidth;           ///< of the picture, user units
  std::size_t most_lines = 128;  ///< two layers with more edges between them get bands instead
};

/// Places the boxes and draws the edges beneath them.
///
/// Nodes of a layer are spread evenly, so that 2 stand over 4 over 8, in the order of what they are linked to. A group
/// that does not fit on one line becomes a block of lines, and one that would need more than a few lines a single box
/// with its count. Lines that pass a layer go through the gaps between its boxes. Where single lines would be too many,
/// all edges between two groups become one band in the colour of its busiest edge, labelled with the number of links and their load. Pre:
/// every end of an edge names an existing node (edges that do not are left out). Order: equal input gives equal shapes;
/// hotter lines lie above cooler ones.
Drawing lay_out(const LayeredDrawing& drawing, const LayeredOptions& options = {});

}  // namespace busbar
