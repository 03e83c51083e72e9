// Made by the build: the functions of all files *_transport.cc of this folder, see CMakeLists.txt.
#pragma once

#include <vector>

#include "busbar/packet/internal/transport.h"

namespace busbar::packet {

std::vector<Transport> collected_transports();

}  // namespace busbar::packet
