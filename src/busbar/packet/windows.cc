// Control by windows: DCTCP, CUBIC and Swift.
//
// Sources: Alizadeh et al., "Data center TCP", SIGCOMM 2010, and RFC 8257; RFC 9438 (CUBIC) and RFC 5681 (slow start);
// Kumar et al., "Swift: delay is simple and effective for congestion control in the datacenter", SIGCOMM 2020.
#include <cmath>

#include "busbar/packet/internal/algorithms.h"

namespace busbar::packet {
namespace {

void grow(Control& c, const ControlSettings& s, double bytes) {
  c.window = std::clamp(c.window + bytes, s.packet_bytes, s.max_window);
}

}  // namespace

// DCTCP. Control::a is alpha, b the bytes of a round, c the marked ones among them.
void dctcp_ack(Control& c, const ControlSettings& s, const AckReport& report) {
  c.b += report.bytes;
  c.c += report.marked;
  if (report.marked > 0) c.slow_start = false;
  if (report.all_before >= c.round_end) {
    if (c.b > 0) c.a += s.dctcp_gain * (c.c / c.b - c.a);
    if (c.c > 0) c.window = std::max(s.packet_bytes, c.window * (1 - c.a / 2));
    c.b = c.c = 0;
    c.round_end = report.next;
  }
  grow(c, s, c.slow_start ? report.bytes : s.packet_bytes * report.bytes / c.window);
}

// CUBIC, in packets and seconds as in the RFC. Control::a is the window before the last decrease, b the time when the
// cubic reaches it again, t1 the time of the decrease, d the end of slow start after a timeout.
void cubic_ack(Control& c, const ControlSettings& s, const AckReport& report) {
  if (c.slow_start && (c.d == 0 || c.window < c.d)) return grow(c, s, report.bytes);
  c.slow_start = false;
  const double at = static_cast<double>(report.now - c.t1 + c.base_rtt) * 1e-12 - c.b;
  const double target = c.a + s.cubic_scale * at * at * at;
  const double window = c.window / s.packet_bytes;
  // In networks with microseconds of delay the cubic hardly moves, and TCP Reno's window grows faster (RFC 9438, 4.3).
  const double friendly = 3 * (1 - s.cubic_left) / (1 + s.cubic_left);
  grow(c, s,
       std::max(target > window ? (target - window) * s.packet_bytes : 0.0, friendly * s.packet_bytes) * report.bytes /
           c.window);
}

void cubic_loss(Control& c, const ControlSettings& s, Ps now) {
  if (now - c.last_decrease < c.base_rtt && c.last_decrease > 0) return;
  c.last_decrease = c.t1 = now;
  c.slow_start = false;
  c.a = c.window / s.packet_bytes;
  c.b = std::cbrt(c.a * (1 - s.cubic_left) / s.cubic_scale);
  c.window = std::max(s.packet_bytes, c.window * s.cubic_left);
}

/// DCTCP reacts to a loss as TCP does: it halves the window, once per round trip.
void dctcp_loss(Control& c, const ControlSettings& s, Ps now) {
  if (now - c.last_decrease < c.base_rtt && c.last_decrease > 0) return;
  c.last_decrease = now;
  c.slow_start = false;
  c.window = std::max(s.packet_bytes, c.window / 2);
}

// Swift, without its scaling of the target by hops and windows below one packet.
void swift_ack(Control& c, const ControlSettings& s, const AckReport& report) {
  const auto delay = static_cast<double>(report.delay), target = static_cast<double>(s.target_delay);
  if (delay < target) return grow(c, s, s.swift_additive * s.packet_bytes * report.bytes / c.window);
  if (report.now - c.last_decrease < c.base_rtt + report.delay) return;
  c.last_decrease = report.now;
  c.window =
      std::max(s.packet_bytes, c.window * std::max(1 - s.swift_beta * (delay - target) / delay, 1 - s.swift_most_cut));
}

// HPCC: Li et al., "HPCC: high precision congestion control", SIGCOMM 2019, algorithm 1, with its constants. Switches
// report the load of the fullest link as PINT (SIGCOMM 2020) does. Control::a is the reference window, stage counts
// additive steps.
void hpcc_ack(Control& c, const ControlSettings& s, const AckReport& report) {
  const double additive = s.max_window * (1 - s.hpcc_aim) / s.hpcc_flows;
  c.b += (report.load - c.b) * std::min(1.0, report.bytes / c.window);
  const double load = c.b;
  double window = 0;
  if (load >= s.hpcc_aim || c.stage >= s.hpcc_steps) {
    window = c.a / (load / s.hpcc_aim) + additive;
    if (report.all_before >= c.round_end) c.stage = 0;
  } else {
    window = c.a + additive;
    if (report.all_before >= c.round_end) ++c.stage;
  }
  c.window = std::clamp(window, s.packet_bytes, s.max_window);
  if (report.all_before >= c.round_end) {
    c.a = c.window;
    c.round_end = report.next;
  }
  const double rate = c.window / static_cast<double>(s.network_rtt);
  c.gap = rate >= s.line_rate ? 0 : static_cast<Ps>(1024 / rate);
}

}  // namespace busbar::packet
