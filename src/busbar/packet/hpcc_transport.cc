// HPCC: windows by the load of the fullest link, which switches report as PINT (SIGCOMM 2020) does.
//
// Source: Li et al., "HPCC: high precision congestion control", SIGCOMM 2019, algorithm 1, with its constants.
#include <algorithm>

#include "busbar/packet/internal/collected.h"
#include "busbar/packet/internal/common_defaults.h"

namespace busbar::packet {
namespace {

// Control::a is the reference window, b the average load, stage counts additive steps.

void hpcc_begin(Control& c, const ControlSettings&, Ps, double) { c.a = c.window; }

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

void hpcc_defaults(Profile& p, const Scale& scale) {
  roce_defaults(p, scale);
  p.hosts.reports_load = true;
  p.network.load_over = scale.rtt;
}

}  // namespace

Transport hpcc_transport() {
  return {{"hpcc", PacketTransport::kHpcc, "RoCEv2 with HPCC: windows by the load that switches report, pause frames"},
          hpcc_defaults,
          {.begin = hpcc_begin, .ack = hpcc_ack},
          {
              {{"hpcc.aim", PacketUnit::kNumber, 0.1, 1, "load aimed at (0.95: Li et al., SIGCOMM 2019)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.hpcc_aim; }>()},
              {{"hpcc.steps", PacketUnit::kNumber, 0, 1000, "additive increases before a multiplicative one (5)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.hpcc_steps; }>()},
              {{"hpcc.flows", PacketUnit::kNumber, 1, 100000,
                "flows that the additive increase allows for at one port: window x (1 - aim) / flows (32: as published "
                "with "
                "HPCC)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.hpcc_flows; }>()},
          }};
}

}  // namespace busbar::packet
