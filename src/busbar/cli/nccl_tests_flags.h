// Flags of nccl-tests, so that a command line of theirs can be typed behind "busbar collective CLUSTER".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/cli/flags.h"
#include "busbar/collectives/schedule.h"

namespace busbar {

struct NcclTestsFlags {
  std::uint32_t gpus = 0, threads = 0;  ///< 0: not given
  std::uint32_t graph = 0;              ///< launches per CUDA graph; 0: without
  std::string datatype = "float", reduction = "sum";
  /// Accepted: a prediction needs no repetition, check or buffer.
  std::uint32_t iterations = 0, warmups = 0, check = 0, parallel_init = 0, aggregated = 0, blocking = 0,
                average = 0, registered = 0;

  /// Ranks that -t and -g ask for, over all nodes; 0: as many as there are GPUs.
  std::uint32_t ranks() const;
  /// Whether NCCL lets NVLink switches take part in `op`: sums of all but small types, and minima and maxima of
  /// integers and halves. What reduces nothing always may.
  bool switches_may_reduce(Collective op) const;
};
std::vector<Flag> nccl_tests_flags(NcclTestsFlags& flags);

}  // namespace busbar
