// One tier of switches of a fabric as the user writes it: `switch:`, `spine_switch:`, `core_switch:`.
#pragma once

#include "busbar/spec/reading.h"
#include "busbar/topology/fabric.h"

namespace busbar {

struct SwitchFigures {
  SwitchSpec spec;
  Duration latency;  ///< port to port, cut-through
  bool store_and_forward = false;
  Bytes frame{0};      ///< largest; what a store-and-forward switch takes in before it sends on
  double power_w = 0;  ///< without transceivers; 0: not known
};

/// Reads a map over what `out` has already: keys that are absent stay as they are. Power belongs to the product, so a
/// part of another name without `product` has none.
Status read_switch(const YamlNode& map, Reading& reading, SwitchFigures& out);

}  // namespace busbar
