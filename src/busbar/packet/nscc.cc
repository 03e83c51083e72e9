// Sender-based control in the style of Ultra Ethernet's NSCC: marks and delay together, four cases.
//
// Source: Ultra Ethernet Specification 1.0 (June 2025), section 3.6.13; the constants are those of its reference
// parameters, scaled to the bandwidth-delay product of the network as there.
#include "busbar/packet/internal/algorithms.h"

namespace busbar::packet {
namespace {

// Control::a is the increase gathered, b the bytes since it was applied, c the average delay, d the bytes that arrived
// in this period, e the bytes to ignore, f the consecutive bytes without delay.

constexpr double kReferenceBdp = 150'000;  ///< bytes: 100 Gb/s x 12 us; the constants are for this BDP
constexpr double kMostDecrease = 0.5, kGamma = 0.8;
constexpr double kDelayShare = 0.0125;  ///< weight of a new delay in the average
constexpr int kGate = 3;                ///< quick adaptation below 1/2^3 of the largest window

void apply_pending(Control& c, const ControlSettings& s) {
  c.window += c.a / c.window;
  c.a = 0;
  c.b = 0;
  c.window = std::clamp(c.window, s.packet_bytes, s.max_window);
}

/// Once a period, a window that is far too large shrinks at once to the bytes that arrived.
void end_period(Control& c, const ControlSettings& s, Ps now, double in_flight) {
  if (c.lost_in_period && c.d < s.max_window / (1 << kGate)) {
    c.window = std::max(c.d, s.packet_bytes);
    c.e = in_flight;
  }
  c.lost_in_period = false;
  c.d = 0;
  c.period_end = now + c.base_rtt + s.target_delay;
}

}  // namespace

void nscc_begin(Control& c, const ControlSettings& s, Ps now) {
  c.window = s.max_window;
  c.period_end = now + c.base_rtt + s.target_delay;
  c.last_decrease = now;
}

void nscc_ack(Control& c, const ControlSettings& s, const News& news) {
  const double scale = s.network_bdp / kReferenceBdp;
  const auto target = static_cast<double>(s.target_delay), delay = static_cast<double>(news.delay);
  c.d += news.bytes;
  c.c += kDelayShare * (delay - c.c);
  if (news.now > c.period_end) end_period(c, s, news.now, 0);
  if (c.e > 0) {
    c.e -= news.bytes;
    return;
  }
  if (!news.last_marked && delay < target) {
    c.a += 4 * s.packet_bytes * scale * news.bytes * (target - delay) / target;
    c.f = delay < target / 16 ? c.f + news.bytes : 0;
    if (c.f > c.window) c.window = std::min(s.max_window, c.window + news.bytes);  // doubles each round trip
  } else if (!news.last_marked) {
    c.f = 0;
    c.a += 0.25 * s.packet_bytes * scale * news.bytes;
  } else if (delay >= target) {
    c.f = 0;
    const double usual = std::min(c.c, delay);
    if (news.now - c.last_decrease > c.base_rtt && usual > target) {
      c.window *= std::max(1 - kGamma * (usual - target) / usual, kMostDecrease);
      c.last_decrease = news.now;
    }
  }
  c.b += news.bytes;
  if (c.b >= 8 * s.packet_bytes || c.window < 8 * s.packet_bytes) apply_pending(c, s);
  c.window = std::clamp(c.window, s.packet_bytes, s.max_window);
}

void nscc_loss(Control& c, const ControlSettings& s, Ps now, double bytes, double in_flight) {
  c.lost_in_period = true;
  c.f = 0;
  if (now > c.period_end) end_period(c, s, now, in_flight);
  if (c.e > 0) {
    c.e -= bytes;
    return;
  }
  c.window = std::max(s.packet_bytes, c.window - bytes);
}

}  // namespace busbar::packet
