// The least acceptable bandwidth of a machine, by collective and size, for acceptance tests.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "busbar/accuracy/expect.h"
#include "busbar/predict/band.h"

namespace busbar::accuracy {

struct Threshold {
  collectives::Collective op{};
  std::uint64_t size_bytes = 0;
  double expected_us = 0;
  double most_us = 0;   ///< a longer time is too slow
  double least_us = 0;  ///< a shorter time is not credible: the other end of the band, or the limit of physics
  double expected_busbw_GBps = 0, least_busbw_GBps = 0, most_busbw_GBps = 0;
  predict::Band band;
  std::string how, bound_by;
};

struct Thresholds {
  std::vector<Threshold> rows;  ///< by collective, then size
  std::uint32_t ranks = 0;
  Duration launch;     ///< before the first byte, in all predictions
  std::string inputs;  ///< text read, for a hash
};

/// Ignores options.op. Leaves out collectives that the machine's library does not run over so many ranks.
Result<Thresholds> acceptance_thresholds(const ExpectOptions& options, std::span<const collectives::Collective> ops,
                                         std::span<const std::uint64_t> sizes);

}  // namespace busbar::accuracy
