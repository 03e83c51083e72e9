// Sender-based control in the style of Ultra Ethernet's NSCC: marks and delay together, four cases.
//
// Source: Ultra Ethernet Specification 1.0 (June 2025), section 3.6.13; the constants are those of its reference
// parameters, scaled to the bandwidth-delay product of the network as there.
#include <algorithm>

#include "busbar/packet/internal/collected.h"
#include "busbar/packet/internal/common_defaults.h"

namespace busbar::packet {
namespace {

// Control::a is the increase gathered, b the bytes since it was applied, c the average delay, d the bytes that arrived
// in this period, e the bytes to ignore, f the consecutive bytes without delay, t1 the time of the last steady step.
// period_end is 0 until the first answer. lost_in_period remembers a trim until the window has adapted to it. flag1:
// the window grows fast.

constexpr double kReferenceRtt = 12e6, kReferenceBdp = 150'000;  ///< ps, bytes at 100 Gb/s: the constants are for these
constexpr double kAdjustEvery = 8;                               ///< packets between two increases
constexpr int kGate = 3;                                         ///< quick adaptation below 1/2^3 of the largest window
constexpr int kLateTargets = 4;  ///< a delay of so many targets asks for quick adaptation too

double scale_of(const ControlSettings& s) { return s.network_bdp / kReferenceBdp; }

void clamp(Control& c, const ControlSettings& s) { c.window = std::clamp(c.window, s.packet_bytes, c.most); }

void apply_pending(Control& c, const ControlSettings& s, Ps now) {
  c.window += c.a / c.window;
  if (now - c.t1 >= s.network_rtt) {
    c.window += s.nscc.steady * s.packet_bytes * scale_of(s);
    c.t1 = now;
  }
  c.a = c.b = 0;
  clamp(c, s);
}

/// Once a period, a window that is far too large shrinks at once to the bytes that arrived. True: the answer must have
/// no other effect, since it has caused this, or is about packets sent before.
bool adapt(Control& c, const ControlSettings& s, Ps now, bool marked, bool late, double in_flight) {
  bool done = c.e > 0 && marked;
  if (!done && now > c.period_end) {
    if (c.period_end != 0 && (c.lost_in_period || late) && c.d < c.most / (1 << kGate)) {
      c.window = std::max(c.d, s.packet_bytes);
      c.e = in_flight;
      c.lost_in_period = false;
      done = true;
    }
    c.d = 0;
    c.period_end = now + c.base_rtt + s.target_delay;
  }
  if (done) c.a = c.b = 0;
  return done;
}

void average(Control& c, const ControlSettings& s, double delay) { c.c += s.nscc.average * (delay - c.c); }

/// The window grows fast once a whole window has arrived without delay, as long as there is none.
bool grows_fast(Control& c, const ControlSettings& s, const AckReport& report) {
  c.f = report.delay < s.nscc.no_delay ? c.f + report.bytes : 0;
  c.flag1 = report.delay < s.nscc.no_delay && (c.flag1 || c.f > c.window);
  if (c.flag1) c.window += report.bytes * s.nscc.fast * scale_of(s);
  return c.flag1;
}

void decrease(Control& c, const ControlSettings& s, Ps now) {
  const auto target = static_cast<double>(s.target_delay);
  c.f = 0;
  c.flag1 = false;
  if (c.c <= target || now - c.last_decrease <= c.base_rtt) return;
  c.window *= std::max(1 - s.nscc.gamma * (c.c - target) / c.c, 1 - s.nscc.most_cut);
  c.last_decrease = now;
}

void nscc_begin(Control& c, const ControlSettings& s, Ps now, double bdp) {
  c.most = s.max_window * std::min(1.0, bdp / s.network_bdp);
  c.window = c.most;
  c.last_decrease = c.t1 = now;
}

void nscc_ack(Control& c, const ControlSettings& s, const AckReport& report) {
  const auto target = static_cast<double>(s.target_delay), delay = static_cast<double>(report.delay);
  const bool late = delay >= target;
  c.d += report.bytes;
  c.b += report.bytes;
  c.e = std::max(0.0, c.e - report.bytes);
  average(c, s, late && !report.last_marked ? 0.25 * static_cast<double>(c.base_rtt) : delay);
  if (adapt(c, s, report.now, report.last_marked, delay > kLateTargets * target, report.in_flight)) return;
  if (!report.last_marked && late) {
    c.a += s.nscc.fair * s.packet_bytes * scale_of(s) * report.bytes;
  } else if (!report.last_marked) {
    if (!grows_fast(c, s, report))
      c.a += s.nscc.alpha * s.packet_bytes * scale_of(s) * report.bytes * (target - delay) / kReferenceRtt;
  } else if (late) {
    decrease(c, s, report.now);
  }
  clamp(c, s);
  if (c.b > kAdjustEvery * s.packet_bytes || report.now - c.t1 > s.network_rtt) apply_pending(c, s, report.now);
}

/// A trimmed packet counts as delayed by a full round trip: the queue that trimmed it holds one BDP.
void nscc_loss(Control& c, const ControlSettings& s, Ps now, double bytes, double in_flight) {
  c.e = std::max(0.0, c.e - bytes);
  average(c, s, static_cast<double>(s.network_rtt));
  c.lost_in_period = true;
  if (adapt(c, s, now, true, true, in_flight)) return;
  c.window -= bytes;
  clamp(c, s);
}

/// Queues of one BDP, marks from 0.2 to 0.8 of them, target 0.75 RTT: section 3.6.13, too.
void nscc_defaults(Profile& p, const Scale& scale) {
  p.hosts.control.max_window = 1.5 * scale.bdp;
  p.hosts.control.target_delay = scale.rtt * 3 / 4;
  p.network.trim = true;
  p.network.queue_bytes = whole_packets(scale.bdp, p.hosts.control.packet_bytes);
  p.network.mark_low = static_cast<std::uint32_t>(0.2 * p.network.queue_bytes);
  p.network.mark_high = static_cast<std::uint32_t>(0.8 * p.network.queue_bytes);
}

}  // namespace

Transport nscc_transport() {
  return {
      {"nscc", PacketTransport::kNscc, "sender-based control in the style of Ultra Ethernet: marks, delay, trimming"},
      nscc_defaults,
      {nscc_begin, nscc_ack, nscc_loss, shut_window},
      {
          {{"nscc.alpha", PacketUnit::kNumber, 0, 100,
            "packets of increase per 12 us of spare delay (4: Ultra Ethernet 1.0, 3.6.13, as all of NSCC)"},
           member<[](Profile& p) -> auto& { return p.hosts.control.nscc.alpha; }>()},
          {{"nscc.fair", PacketUnit::kNumber, 0, 100, "packets of increase at more delay without marks (5)"},
           member<[](Profile& p) -> auto& { return p.hosts.control.nscc.fair; }>()},
          {{"nscc.steady", PacketUnit::kNumber, 0, 100, "packets of increase per round trip (0.15)"},
           member<[](Profile& p) -> auto& { return p.hosts.control.nscc.steady; }>()},
          {{"nscc.fast", PacketUnit::kNumber, 0, 10, "increase per byte acknowledged without delay (0.25)"},
           member<[](Profile& p) -> auto& { return p.hosts.control.nscc.fast; }>()},
          {{"nscc.gamma", PacketUnit::kNumber, 0, 1, "decrease per share of delay above the target (0.8)"},
           member<[](Profile& p) -> auto& { return p.hosts.control.nscc.gamma; }>()},
          {{"nscc.most_cut", PacketUnit::kNumber, 0, 1, "largest share of the window that one decrease takes (0.5)"},
           member<[](Profile& p) -> auto& { return p.hosts.control.nscc.most_cut; }>()},
          {{"nscc.average", PacketUnit::kNumber, 1e-6, 1, "weight of a new delay in the average (0.0125)"},
           member<[](Profile& p) -> auto& { return p.hosts.control.nscc.average; }>()},
          {{"nscc.no_delay", PacketUnit::kTime, 1, kSecond_ps, "less delay counts as none (1us)"},
           member<[](Profile& p) -> auto& { return p.hosts.control.nscc.no_delay; }>()},
      }};
}

}  // namespace busbar::packet
