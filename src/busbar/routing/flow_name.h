// The number by which static hashing distinguishes connections.
#pragma once

#include <cstdint>

#include "busbar/topology/link.h"

namespace busbar::routing {

/// Names a connection between two GPUs on one channel. It takes GPUs and not ranks, so it does not depend on which rank
/// runs where. Every engine must use it, or their hashed routes differ.
constexpr std::uint64_t flow_name(topology::DeviceId from, topology::DeviceId to, std::uint32_t channel) {
  return ((std::uint64_t{index(from)} << 32) | index(to)) ^ (std::uint64_t{channel} << 48);
}

}  // namespace busbar::routing
