// Links that behave otherwise than the topology says.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/units.h"
#include "busbar/topology/link.h"

namespace busbar::lowering {

/// Changes that a what-if asks for, without touching the topology.
struct WhatIf {
  std::vector<std::uint16_t> link_classes;  ///< ascending
  double rate_factor = 1;
  double latency_factor = 1;
  Duration latency_less{};  ///< taken off every latency after that; none becomes negative
};

/// A message over `link` is held up for `delay` with `probability`, and those behind it wait: jitter, or a loss and its
/// retransmission timeout.
struct LinkDelay {
  topology::LinkId link{};
  double probability = 0;
  Duration delay;
};

}  // namespace busbar::lowering
