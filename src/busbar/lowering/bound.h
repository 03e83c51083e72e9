// What bounds the time of a call.
#pragma once

#include <cstdint>
#include <string>

#include "busbar/base/id.h"
#include "busbar/topology/link.h"

namespace busbar::lowering {

enum class BoundKind : std::uint8_t { kBandwidth, kLatency };

/// What bounds a time: a link with a name, its class, the phase, and whether bytes or hops cost the most.
struct Bound {
  topology::LinkId link = kNone<topology::LinkId>;
  std::string phase;  ///< "reduce-scatter in group", ...
  BoundKind kind = BoundKind::kBandwidth;
};

}  // namespace busbar::lowering
