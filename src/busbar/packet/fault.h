// Faults that begin in the middle of a run.
#pragma once

#include <cstdint>

#include "busbar/topology/topology.h"

namespace busbar::packet {

/// A fault of one direction of a link, or of the host at its end, from `from` until `until`.
struct PacketFault {
  enum class Kind : std::uint8_t {
    kDown,  ///< packets that arrive while it lasts are lost
    kRate,  ///< a share `value` of its rate is left
    kLoss,  ///< each packet is lost with probability `value`
    kSlow,  ///< the host at its end takes packets at `value` times the link's rate
    kStorm  ///< the host at its end pauses the link the whole time
  };
  topology::LinkId link{};
  Kind kind = Kind::kDown;
  double value = 0;
  SimTime from, until = SimTime::max();
};

}  // namespace busbar::packet
