// What several transports begin with, and how windows of TCP react.
#pragma once

#include "busbar/packet/internal/profile.h"

namespace busbar::packet {

/// `bytes` rounded up to packets of `packet` bytes.
std::uint32_t whole_packets(double bytes, double packet);
/// Pause frames, and a window of one BDP.
void roce_defaults(Profile& p, const Scale& scale);
/// Drops, selective acknowledgements, slow start.
void tcp_defaults(Profile& p, const Scale& scale);

/// The window grows by so many bytes, within its bounds.
void grow_window(Control& c, const ControlSettings& s, double bytes);
/// RFC 5681: a loss halves the window, once per round trip.
void halve_window(Control& c, const ControlSettings& s, Ps now, double bytes, double in_flight);
/// The window starts again from one packet.
void shut_window(Control& c, const ControlSettings& s, Ps now);

}  // namespace busbar::packet
