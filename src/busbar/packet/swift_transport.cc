// Swift: windows by delay, without its scaling of the target by hops and windows below one packet. Losses are handled
// as in TCP.
//
// Source: Kumar et al., "Swift: delay is simple and effective for congestion control in the datacenter", SIGCOMM 2020.
#include <algorithm>

#include "busbar/packet/internal/collected.h"
#include "busbar/packet/internal/common_defaults.h"

namespace busbar::packet {
namespace {

void swift_ack(Control& c, const ControlSettings& s, const AckReport& report) {
  const auto delay = static_cast<double>(report.delay), target = static_cast<double>(s.target_delay);
  if (delay < target) return grow_window(c, s, s.swift_additive * s.packet_bytes * report.bytes / c.window);
  if (report.now - c.last_decrease < c.base_rtt + report.delay) return;
  c.last_decrease = report.now;
  c.window =
      std::max(s.packet_bytes, c.window * std::max(1 - s.swift_beta * (delay - target) / delay, 1 - s.swift_most_cut));
}

/// The target: half a round trip.
void swift_defaults(Profile& p, const Scale& scale) {
  tcp_defaults(p, scale);
  p.hosts.control.first_window = scale.bdp;
  p.hosts.control.max_window = 2 * scale.bdp;
  p.hosts.control.target_delay = scale.rtt / 2;
}

}  // namespace

Transport swift_transport() {
  return {{"swift", PacketTransport::kSwift, "windows by delay; full queues drop"},
          swift_defaults,
          {.ack = swift_ack, .loss = halve_window, .timeout = shut_window},
          {
              {{"swift.beta", PacketUnit::kNumber, 0, 1,
                "decrease per share of delay above the target (0.8: Kumar et al., SIGCOMM 2020)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.swift_beta; }>()},
              {{"swift.additive", PacketUnit::kNumber, 0, 100,
                "packets of increase per round trip below the target (1: as swift.beta)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.swift_additive; }>()},
              {{"swift.most_cut", PacketUnit::kNumber, 0, 1,
                "largest share of the window that one decrease takes (0.5: as swift.beta)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.swift_most_cut; }>()},
          }};
}

}  // namespace busbar::packet
