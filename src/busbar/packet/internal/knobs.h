#pragma once

#include <vector>

#include "busbar/packet/internal/profile.h"

namespace busbar::packet {

/// Sizes of packets, which the settings of profiles are computed from.
HostSettings shape_of(const PacketOptions& options);
/// Puts the user's settings into a profile. Errors: kInvalid for settings that the transport does not use, or that
/// contradict each other.
Status apply_settings(const PacketOptions& options, Profile& profile);
/// The value of each of packet_knobs(); NaN where the transport does not use it.
std::vector<double> settings_of(const Profile& profile);

}  // namespace busbar::packet
