#include "busbar/packet/internal/profile.h"

#include "busbar/packet/internal/knobs.h"
#include "busbar/packet/internal/transport.h"

namespace busbar::packet {
Profile make_profile(const PacketOptions& options, const Scale& scale) {
  Profile p;
  p.hosts.spray = options.balance == PacketBalance::kSpray || options.balance == PacketBalance::kAdaptive;
  p.hosts.seed = p.network.seed = options.seed;
  const HostSettings shape = shape_of(options);
  p.hosts.payload = shape.payload;
  p.hosts.header = p.network.header_bytes = shape.header;
  p.hosts.control.packet_bytes = shape.control.packet_bytes;
  p.network.packet_bytes = static_cast<std::int32_t>(shape.payload + shape.header);
  p.hosts.timeout = 100'000'000;
  p.hosts.control.network_bdp = scale.bdp;
  p.hosts.control.network_rtt = scale.rtt;
  p.hosts.control.line_rate = scale.line_rate;
  p.network.adaptive = options.balance == PacketBalance::kAdaptive;
  p.network.cut_through = options.cut_through;
  p.network.lanes = p.hosts.lanes = options.lanes;
  if (options.balance == PacketBalance::kFlowlet)
    p.network.flowlet_gap = options.flowlet_gap > Duration() ? options.flowlet_gap.in_ps() : scale.rtt;
  const Transport& transport = transport_of(options.transport);
  p.transport = options.transport;
  p.hosts.control.law = transport.law;
  transport.defaults(p, scale);
  if (p.hosts.spray) {
    p.hosts.recovery = Recovery::kTrimming;  // a gap proves no loss if paths reorder
    if (p.network.lossless == Lossless::kNo)
      p.hosts.gap_packets = std::max(16u, static_cast<std::uint32_t>(scale.bdp / p.hosts.control.packet_bytes));
  }
  return p;
}

}  // namespace busbar::packet
