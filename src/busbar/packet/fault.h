// What may go wrong in the middle of a run.
#pragma once

#include <cstdint>

#include "busbar/topology/topology.h"

namespace busbar {

/// Trouble with one direction of a link, or with the host at its end, from `from` until `until`.
struct PacketFault {
  enum class Kind : std::uint8_t {
    kDown,  ///< no packet that arrives meanwhile gets through
    kRate,  ///< `value` of its rate is left
    kLoss,  ///< each packet is lost with probability `value`
    kSlow,  ///< the host at its end takes packets at `value` of the link's rate
    kStorm  ///< the host at its end tells the link to stop, and does not tire of it
  };
  LinkId link{};
  Kind kind = Kind::kDown;
  double value = 0;
  SimTime from, until = SimTime::max();
};

}  // namespace busbar
