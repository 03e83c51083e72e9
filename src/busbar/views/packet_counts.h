// What packets went through, in words.
#pragma once

#include <string>

#include "busbar/packet/packet_list.h"

namespace busbar::views {

/// "3 marked, 0 trimmed, 0 dropped, 0 sent again, 0 pauses, 0 timeouts".
std::string trouble_of(const packet::PacketCounts& counts);

}  // namespace busbar::views
