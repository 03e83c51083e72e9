// The least bandwidth to accept of a machine, by collective and size: what an acceptance test compares with.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "busbar/accuracy/expect.h"
#include "busbar/predict/band.h"

namespace busbar {

struct Threshold {
  Collective op{};
  std::uint64_t size_bytes = 0;
  double expected_us = 0;
  double most_us = 0;   ///< slower is too slow
  double least_us = 0;  ///< faster is not to be believed: the band's other end, or what physics allows
  double expected_busbw_GBps = 0, least_busbw_GBps = 0, most_busbw_GBps = 0;
  Band band;
  std::string how, bound_by;
};

struct Thresholds {
  std::vector<Threshold> rows;  ///< by collective, then size
  std::uint32_t ranks = 0;
  Duration launch;  ///< before the first byte, in all predictions
  std::string inputs;  ///< text that was read, for a hash
};

/// options.op is not looked at. Collectives that the machine's library does not run over so many ranks are left out.
Result<Thresholds> acceptance_thresholds(const ExpectOptions& options, std::span<const Collective> ops,
                                         std::span<const std::uint64_t> sizes);

}  // namespace busbar
