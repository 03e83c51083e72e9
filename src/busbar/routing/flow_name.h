// By what static hashing tells connections apart.
#pragma once

#include <cstdint>

#include "busbar/topology/link.h"

namespace busbar {

/// Of a connection between two GPUs on one channel. GPUs and not ranks, so that it does not matter which rank runs
/// where. Every engine must use this one, or their hashed routes differ.
constexpr std::uint64_t flow_name(DeviceId from, DeviceId to, std::uint32_t channel) {
  return ((std::uint64_t{index(from)} << 32) | index(to)) ^ (std::uint64_t{channel} << 48);
}

}  // namespace busbar
