// The transports of the packet engine by name.
#pragma once

#include <span>
#include <string_view>

#include "busbar/packet/packet_list.h"

namespace busbar::packet {

struct PacketTransportName {
  const char* name;
  PacketTransport transport;
  const char* what;
};
/// The default first.
std::span<const PacketTransportName> packet_transports();
/// Null: no transport has this name.
const PacketTransportName* find_packet_transport(std::string_view name);

}  // namespace busbar::packet
