// The transports of the packet engine by name, and their settings as entries of `busbar catalog transports`.
#pragma once

#include <span>
#include <string_view>

#include "busbar/base/json.h"
#include "busbar/packet/packet_list.h"
#include "busbar/report/document.h"

namespace busbar {

struct PacketTransportName {
  const char* name;
  PacketTransport transport;
  const char* what;
};
/// The default first.
std::span<const PacketTransportName> packet_transports();
/// Null: no transport has this name.
const PacketTransportName* find_packet_transport(std::string_view name);

/// Title of an entry of the catalogue.
std::string packet_transport_title(const PacketTransportName& transport);
/// Each setting with default, range and source; defaults that depend on the network are those of default_settings().
Table settings_table(const PacketTransportName& transport);
/// The same for --json, as other entries; each figure has `least` and `most` as well. `value`: the default.
Json settings_entry(const PacketTransportName& transport);

}  // namespace busbar
