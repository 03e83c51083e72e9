// One tier of switches of a fabric as the user writes it: `switch:`, `spine_switch:`, `core_switch:`.
#pragma once

#include "busbar/spec/reading.h"
#include "busbar/topology/fabric.h"

namespace busbar::spec {

struct SwitchFigures {
  topology::SwitchSpec spec;
  Duration latency;  ///< port to port, cut-through
  bool store_and_forward = false;
  Bytes frame{0};      ///< largest frame; a store-and-forward switch receives it whole before it sends
  double power_w = 0;  ///< without transceivers; 0: unknown
};

/// Reads a map over the values of `out`: absent keys keep their value. Power belongs to a product, so a part with
/// another name and without `product` has none.
Status read_switch(const YamlNode& map, Reading& reading, SwitchFigures& out);

}  // namespace busbar::spec
