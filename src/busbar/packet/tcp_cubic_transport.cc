// TCP with CUBIC.
//
// Sources: RFC 9438 (CUBIC) and RFC 5681 (slow start).
#include <algorithm>
#include <cmath>

#include "busbar/packet/internal/collected.h"
#include "busbar/packet/internal/common_defaults.h"

namespace busbar::packet {
namespace {

// In packets and seconds as in the RFC. Control::a is the window before the last decrease, b the time when the cubic
// reaches it again, t1 the time of the decrease, d the end of slow start after a timeout.

void cubic_ack(Control& c, const ControlSettings& s, const AckReport& report) {
  if (c.slow_start && (c.d == 0 || c.window < c.d)) return grow_window(c, s, report.bytes);
  c.slow_start = false;
  const double at = static_cast<double>(report.now - c.t1 + c.base_rtt) * 1e-12 - c.b;
  const double target = c.a + s.cubic_scale * at * at * at;
  const double window = c.window / s.packet_bytes;
  // In networks with microseconds of delay the cubic hardly moves, and TCP Reno's window grows faster (RFC 9438, 4.3).
  const double friendly = 3 * (1 - s.cubic_left) / (1 + s.cubic_left);
  grow_window(c, s,
              std::max(target > window ? (target - window) * s.packet_bytes : 0.0, friendly * s.packet_bytes) *
                  report.bytes / c.window);
}

void cubic_loss(Control& c, const ControlSettings& s, Ps now, double, double) {
  if (now - c.last_decrease < c.base_rtt && c.last_decrease > 0) return;
  c.last_decrease = c.t1 = now;
  c.slow_start = false;
  c.a = c.window / s.packet_bytes;
  c.b = std::cbrt(c.a * (1 - s.cubic_left) / s.cubic_scale);
  c.window = std::max(s.packet_bytes, c.window * s.cubic_left);
}

/// RFC 5681: one packet, and slow start up to half of the bytes in flight.
void cubic_timeout(Control& c, const ControlSettings& s, Ps now) {
  c.d = c.window / 2;
  cubic_loss(c, s, now, 0, 0);
  c.slow_start = true;
  shut_window(c, s, now);
}

}  // namespace

Transport tcp_cubic_transport() {
  return {{"tcp-cubic", PacketTransport::kTcpCubic, "TCP with CUBIC; full queues drop"},
          tcp_defaults,
          {.ack = cubic_ack, .loss = cubic_loss, .timeout = cubic_timeout},
          {
              {{"cubic.scale", PacketUnit::kNumber, 1e-6, 1e6,
                "of the cubic, packets per second cubed (0.4: RFC 9438, 5.1)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.cubic_scale; }>()},
              {{"cubic.left", PacketUnit::kNumber, 0.01, 0.99,
                "share of the window left after a loss (0.7: RFC 9438, 4.6)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.cubic_left; }>()},
          }};
}

}  // namespace busbar::packet
