// The machine as pictures: the inside of one server and the fabric, with link loads as heat colours.
#pragma once

#include <string>
#include <vector>

#include "busbar/report/document.h"
#include "busbar/topology/topology.h"

namespace busbar::views {

/// Loads for heat colours, on one scale in all pictures of them.
struct LinkHeat {
  std::vector<double> load;  ///< per directed link, 0..1; empty: no colours
  std::string during;        ///< "over the step": the time of which these are means

  double end() const;                  ///< the load at the hot end of the scale
  std::vector<double> shades() const;  ///< 0..1 on that scale, per directed link
};

/// Inside of one block: switches above GPUs; PCIe switches, NICs and sockets below. Direct links between GPUs are drawn
/// as a ring above all of this. A line shows the busier of its two directions.
report::Drawing draw_node(const topology::Topology& topology, topology::BlockId block, const LinkHeat& heat = {});

/// Spines above leaves above blocks; cables between the same two ends are one line. Without a fabric: an empty drawing.
report::Drawing draw_fabric(const topology::Topology& topology, const LinkHeat& heat = {});

/// The fabric, where there is one, and the inside of the block with the busiest link; one scale in both.
std::vector<report::Drawing> draw_loads(const topology::Topology& topology, const LinkHeat& heat);

}  // namespace busbar::views
