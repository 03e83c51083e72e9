#include "busbar/packet/internal/control.h"

#include "busbar/packet/internal/algorithms.h"

namespace busbar::packet {

void begin(Control& c, const ControlSettings& s, Ps now, Ps base_rtt, double bdp) {
  c = Control{};
  c.base_rtt = base_rtt;
  c.window = s.first_window > 0 ? s.first_window : s.max_window;
  if (s.algorithm == Algorithm::kNscc) nscc_begin(c, s, now, bdp);
  if (s.algorithm == Algorithm::kDcqcn) dcqcn_begin(c, s);
  if (s.algorithm == Algorithm::kHpcc) c.a = c.window;
  if (s.algorithm == Algorithm::kDctcp) c.a = 1;  // RFC 8257, 3.3: cautious at first
}

void on_ack(Control& c, const ControlSettings& s, const AckReport& report) {
  switch (s.algorithm) {
    case Algorithm::kNscc:
      return nscc_ack(c, s, report);
    case Algorithm::kDcqcn:
      return dcqcn_ack(c, s, report);
    case Algorithm::kHpcc:
      return hpcc_ack(c, s, report);
    case Algorithm::kSwift:
      return swift_ack(c, s, report);
    case Algorithm::kDctcp:
      return dctcp_ack(c, s, report);
    case Algorithm::kCubic:
      return cubic_ack(c, s, report);
    case Algorithm::kNone:
    case Algorithm::kCredit:
      return;
  }
}

void on_loss(Control& c, const ControlSettings& s, Ps now, double bytes, double in_flight) {
  switch (s.algorithm) {
    case Algorithm::kNscc:
      return nscc_loss(c, s, now, bytes, in_flight);
    case Algorithm::kDctcp:
    case Algorithm::kSwift:
      return dctcp_loss(c, s, now);
    case Algorithm::kCubic:
      return cubic_loss(c, s, now);
    default:
      return;
  }
}

/// RFC 5681: one packet, and slow start up to half of the bytes in flight. The other algorithms start again.
void on_timeout(Control& c, const ControlSettings& s, Ps now) {
  switch (s.algorithm) {
    case Algorithm::kDctcp:
    case Algorithm::kCubic:
      c.d = c.window / 2;
      cubic_loss(c, s, now);
      c.slow_start = true;
      c.window = s.packet_bytes;
      return;
    case Algorithm::kNscc:
    case Algorithm::kSwift:
      c.window = s.packet_bytes;
      return;
    default:
      return;
  }
}

void before_send(Control& c, const ControlSettings& s, Ps now) {
  if (s.algorithm == Algorithm::kDcqcn) dcqcn_clock(c, s, now);
}

}  // namespace busbar::packet
