#include "busbar/packet/default_settings.h"

#include <cmath>

#include "busbar/packet/internal/knobs.h"

namespace busbar::packet {
namespace {

Scale scale_of(const DefaultNetwork& n) {
  const HostSettings shape;
  const auto one_way = [&](std::uint32_t bytes) {
    return n.cables * (transfer_time(Bytes{bytes}, n.rate) + n.cable).in_ps();
  };
  Scale s;
  s.rtt = one_way(shape.payload + shape.header) + one_way(shape.header);
  s.line_rate = 1 / (1e12 / static_cast<double>(per_second(n.rate)));
  s.bdp = static_cast<double>(s.rtt) * s.line_rate;
  s.longest_cable = n.cable.in_ps();
  return s;
}

}  // namespace

std::vector<double> default_settings(PacketTransport transport, const DefaultNetwork& network) {
  std::vector<double> out(packet_knobs().size(), std::nan(""));
  for (const PacketBalance b : {PacketBalance::kEcmp, PacketBalance::kSpray, PacketBalance::kFlowlet}) {
    PacketOptions options;
    options.transport = transport;
    options.balance = b;
    const std::vector<double> one = packet::settings_of(packet::make_profile(options, packet::scale_of(network)));
    for (std::size_t k = 0; k < out.size(); ++k)
      if (std::isnan(out[k])) out[k] = one[k];
  }
  return out;
}

}  // namespace busbar::packet
