// The hall of a machine, the available cables and optics, and the power of its switches: `hall:`, `parts:` of a cable,
// `product:` of a switch.
#pragma once

#include <vector>

#include "busbar/spec/reading.h"
#include "busbar/topology/cabling.h"

namespace busbar::spec {

/// Reads entries of catalog/optics by name, in the order of the list, in which they are tried later.
Result<std::vector<topology::CablePart>> read_cable_parts(const YamlNode& list, Reading& reading);
/// Parts for fabrics that name none: 100 Gb/s per lane, passive copper, then multi-mode, then single-mode optics.
Result<std::vector<topology::CablePart>> usual_cable_parts(Reading& reading);

/// "17W" or "10.2kW" in watts.
Result<double> as_power(const YamlNode& node);

/// Watts of the switch `name` of catalog/switches; 0 if its file does not give it.
Result<double> read_switch_power(const YamlNode& name, Reading& reading);

/// nodes_per_rack, racks_per_node, racks_per_row, rack_m, row_m, riser_m, in_rack_m.
Status read_hall(const YamlNode& map, topology::CablingRules& out);

}  // namespace busbar::spec
