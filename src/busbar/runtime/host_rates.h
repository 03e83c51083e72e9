// How fast this host is, measured now: what a prediction of the runtime is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/result.h"

namespace busbar::runtime {

/// Rates of one core while all take part, each copying from the memory of another, or adding its own to that.
struct RatePoint {
  std::uint64_t bytes = 0;                           ///< of each buffer
  double copy_bytes_per_s = 0, add_bytes_per_s = 0;  ///< of the result
};

struct HostRates {
  std::uint32_t cores = 1;
  double hop_s = 0;                                 ///< from one rank's flag to the step of the next, if all ranks wait
  std::vector<RatePoint> points{};                  ///< smallest buffers first
  double socket_hop_s = 0, socket_bytes_per_s = 0;  ///< of one connection over TCP; 0: not measured

  /// Between two measured sizes: in proportion, on a logarithmic scale of sizes.
  RatePoint at(std::uint64_t bytes) const;
};

/// Takes about 0.2 s. `bytes`: the largest buffer that matters.
HostRates measure_host(std::uint32_t ranks, std::uint64_t bytes);

/// Adds the rates of sockets.
Status measure_sockets(HostRates& rates);

/// Cores that this process may use.
std::uint32_t cores_allowed();

}  // namespace busbar::runtime
