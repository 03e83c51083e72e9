// DCTCP: windows by marks.
//
// Sources: Alizadeh et al., "Data center TCP", SIGCOMM 2010, and RFC 8257. It reacts to a loss as TCP does.
#include <algorithm>

#include "busbar/packet/internal/collected.h"
#include "busbar/packet/internal/common_defaults.h"

namespace busbar::packet {
namespace {

// Control::a is alpha, b the bytes of a round, c the marked ones among them.

void dctcp_begin(Control& c, const ControlSettings&, Ps, double) { c.a = 1; }  // RFC 8257, 3.3: cautious at first

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
  grow_window(c, s, c.slow_start ? report.bytes : s.packet_bytes * report.bytes / c.window);
}

/// RFC 5681: slow start from one packet. Alpha stays (RFC 8257, 3.5).
void dctcp_timeout(Control& c, const ControlSettings& s, Ps now) {
  c.last_decrease = now;
  c.slow_start = true;
  shut_window(c, s, now);
}

/// Marks above a quarter of the BDP; "Data center TCP", eq. 13, has a seventh.
void dctcp_defaults(Profile& p, const Scale& scale) {
  tcp_defaults(p, scale);
  p.network.mark_low = p.network.mark_high = static_cast<std::uint32_t>(scale.bdp / 4);
}

}  // namespace

Transport dctcp_transport() {
  return {{"dctcp", PacketTransport::kDctcp, "TCP with DCTCP: windows by marks; full queues drop"},
          dctcp_defaults,
          {dctcp_begin, dctcp_ack, halve_window, dctcp_timeout},
          {
              {{"dctcp.gain", PacketUnit::kNumber, 1e-6, 1, "of alpha (1/16: RFC 8257, 4.2)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.dctcp_gain; }>()},
          }};
}

}  // namespace busbar::packet
