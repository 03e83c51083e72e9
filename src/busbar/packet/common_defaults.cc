#include "busbar/packet/internal/common_defaults.h"

#include <algorithm>

namespace busbar::packet {

std::uint32_t whole_packets(double bytes, double packet) {
  return static_cast<std::uint32_t>(bytes / packet + 0.9999) * static_cast<std::uint32_t>(packet);
}

/// Source: the settings published with HPCC (SIGCOMM 2019), scaled to the line rate as there: 32 MB a switch, dynamic
/// threshold 1/8, headroom of three BDP.
void roce_defaults(Profile& p, const Scale& scale) {
  p.hosts.recovery = Recovery::kGoBack;
  // One more packet for each that an acknowledgement may be late by.
  p.hosts.control.max_window = scale.bdp + p.hosts.packets_per_ack * p.hosts.control.packet_bytes;
  p.hosts.timeout = 4'000'000'000;  // far beyond any pause: only faults lose packets here
  p.network.lossless = Lossless::kPause;
  p.network.buffer_bytes = 32'000'000;
  p.network.headroom_bytes = static_cast<std::int64_t>(3 * scale.bdp);
  p.network.resume_below = 2 * p.network.packet_bytes;
}

/// Sources: RFC 6928 (initial window of ten segments), RFC 5681 (one acknowledgement per two). Queues of 1,000 packets
/// and a timeout of at least 200 us are the usual settings when packet simulators are compared.
void tcp_defaults(Profile& p, const Scale& scale) {
  p.hosts.recovery = Recovery::kSelective;
  p.hosts.packets_per_ack = 2;
  p.hosts.timeout = std::max<Ps>(200'000'000, 4 * scale.rtt);
  p.hosts.control.first_window = 10 * p.hosts.control.packet_bytes;
  p.hosts.control.max_window = 8 * scale.bdp;
  p.network.queue_bytes = 1000 * static_cast<std::uint32_t>(p.hosts.control.packet_bytes);
}

void grow_window(Control& c, const ControlSettings& s, double bytes) {
  c.window = std::clamp(c.window + bytes, s.packet_bytes, s.max_window);
}

void halve_window(Control& c, const ControlSettings& s, Ps now, double, double) {
  if (now - c.last_decrease < c.base_rtt && c.last_decrease > 0) return;
  c.last_decrease = now;
  c.slow_start = false;
  c.window = std::max(s.packet_bytes, c.window / 2);
}

void shut_window(Control& c, const ControlSettings& s, Ps) { c.window = s.packet_bytes; }

}  // namespace busbar::packet
