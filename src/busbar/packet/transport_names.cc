#include "busbar/packet/transport_names.h"

#include <algorithm>
#include <vector>

#include "busbar/packet/internal/collected.h"

namespace busbar::packet {

const std::vector<Transport>& transports() {
  static const std::vector<Transport> all = [] {
    std::vector<Transport> out = collected_transports();
    std::sort(out.begin(), out.end(),
              [](const Transport& a, const Transport& b) { return a.name.transport < b.name.transport; });
    return out;
  }();
  return all;
}

std::span<const PacketTransportName> packet_transports() {
  static const std::vector<PacketTransportName> names = [] {
    std::vector<PacketTransportName> out;
    for (const Transport& t : transports()) out.push_back(t.name);
    return out;
  }();
  return names;
}

const PacketTransportName* find_packet_transport(std::string_view name) {
  const std::span<const PacketTransportName> all = packet_transports();
  const auto at = std::find_if(all.begin(), all.end(), [&](const PacketTransportName& t) { return name == t.name; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace busbar::packet
