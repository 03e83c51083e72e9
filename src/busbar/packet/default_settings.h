// The settings that transports have before a user changes any.
#pragma once

#include <vector>

#include "busbar/base/units.h"
#include "busbar/packet/packet_list.h"

namespace busbar::packet {

/// Defaults follow the longest route of a network. This one is two tiers of switches, the smallest that has a choice of
/// paths, as in the comparisons of packet simulators.
struct DefaultNetwork {
  BytesPerSecond rate{50'000'000'000};
  Duration cable = Duration::ns(500);
  int cables = 4;
};

/// Per entry of packet_knobs(), in its unit; NaN where no way to balance paths makes the transport use it.
std::vector<double> default_settings(PacketTransport transport, const DefaultNetwork& network = {});

}  // namespace busbar::packet
