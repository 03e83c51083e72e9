// The settings of the packet engine's transports as entries of the catalogue.
#pragma once

#include <string>

#include "busbar/packet/transport_names.h"
#include "busbar/questions/catalog_question.h"

namespace busbar::questions {

/// Title of an entry of the catalogue.
std::string packet_transport_title(const packet::PacketTransportName& transport);
/// Each setting with default, range and source; defaults that depend on the network are those of default_settings().
ShownEntry settings_entry(const packet::PacketTransportName& transport);

}  // namespace busbar::questions
