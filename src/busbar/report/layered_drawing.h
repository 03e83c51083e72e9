// Rows of boxes and the lines between them: the inside of a server, the tiers of a fabric. Independent of any domain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "busbar/report/document.h"
#include "busbar/report/style.h"

namespace busbar::report {

struct LayeredNode {
  std::string label{};      ///< a word: "gpu3"
  int colour = 0;           ///< palette index
  double heat = -1;         ///< load of its busiest link, 0..1, as a strip in the box; < 0: none
  std::string tip{};        ///< tool tip; empty: the label
  std::uint32_t group = 0;  ///< index into Layer::groups; nodes of a group stand together
};

/// One row; rows go from top to bottom. `groups` names the frames; fewer than two entries: no frames.
struct Layer {
  std::string title{};  ///< on the left: "leaf switches"
  std::vector<LayeredNode> nodes{};
  std::vector<std::string> groups{};
};

struct LayeredEnd {
  std::uint32_t layer = 0, node = 0;
};
/// A cable or a pair of directed links; the caller decides which `heat` of the two it shows.
struct LayeredEdge {
  LayeredEnd from{}, to{};
  double heat = -1;
  double thickness = 1.5;
  std::string tip{};
  std::uint32_t links = 1;  ///< number of links that the line represents
  std::string each{};       ///< what one of them carries: "50 GB/s"; empty: not said
  int colour = -1;          ///< palette index of a line without heat; < 0: a neutral one
};

struct LayeredDrawing {
  std::string title{}, description{}, note{};
  std::vector<Layer> layers{};
  std::vector<LayeredEdge> edges{};
  std::string heat_name = "link load";  ///< in the legend
  double heat_end = 0;                  ///< the load at the hot end of the scale, for several pictures; 0: its own
  std::string link_name = "link";       ///< of one edge's links, for counts: "cable"
};

struct LayeredOptions {
  double width = kDrawingWidth;  ///< of the picture, user units
  std::size_t most_lines = 128;  ///< above this number of edges, two layers get bands instead
};

/// Places the boxes and draws the edges below them.
///
/// Nodes of a layer are spread evenly, so that 2 stand over 4 over 8, in the order of the nodes they are linked to. A
/// group that does not fit on one line becomes a block of lines; if it needs more than a few lines, a single box with
/// its count. Lines that pass a layer go through the gaps between its boxes. If there are too many lines, all edges
/// between two groups become one band in the colour of their mean load, labelled with the number of links and their
/// load. Pre: every end of an edge names an existing node (other edges are left out). Order: equal input gives equal
/// shapes; hotter lines cover cooler ones.
Drawing lay_out(const LayeredDrawing& drawing, const LayeredOptions& options = {});

}  // namespace busbar::report
