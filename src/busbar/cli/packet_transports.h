// The settings of the packet engine's transports as entries of `busbar catalog transports`.
#pragma once

#include <string>

#include "busbar/base/json.h"
#include "busbar/packet/transport_names.h"
#include "busbar/report/document.h"

namespace busbar {

/// Title of an entry of the catalogue.
std::string packet_transport_title(const PacketTransportName& transport);
/// Each setting with default, range and source; defaults that depend on the network are those of default_settings().
Table settings_table(const PacketTransportName& transport);
/// The same for --json, as other entries; each figure has `least` and `most` as well. `value`: the default.
Json settings_entry(const PacketTransportName& transport);

}  // namespace busbar
