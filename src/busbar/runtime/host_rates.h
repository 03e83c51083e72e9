// How fast the memory of this host is, measured now: the bound of what the runtime reaches.
#pragma once

#include <cstdint>

#include "busbar/base/result.h"

namespace busbar::runtime {

/// Rates of one core while all take part, each copying from the memory of another, or adding its own to that.
struct RatePoint {
  std::uint64_t bytes = 0;                           ///< of each buffer
  double copy_bytes_per_s = 0, add_bytes_per_s = 0;  ///< of the result
};

struct HostRates {
  std::uint32_t cores = 1;
  RatePoint in_cache, largest;  ///< with buffers of 64 KiB, and with the largest
};

/// Takes about 0.1 s. `bytes`: the largest buffer that matters. Error: kIo, there is not enough memory.
Result<HostRates> measure_host(std::uint32_t ranks, std::uint64_t bytes);

/// Cores that this process may use.
std::uint32_t cores_allowed();

/// Moves the calling thread, one of so many, to a core that none of the others begins on; from there the system may
/// move it again. On a busy host the system would often begin with several on one core, and leave those that wait
/// actively there. Of more threads than cores, those with neighbouring numbers begin on one core: which ranks share a
/// core changes the time of a ring by half, so it must not differ from one run to the next.
void begin_on_own_core(std::uint32_t thread, std::uint32_t threads);

}  // namespace busbar::runtime
