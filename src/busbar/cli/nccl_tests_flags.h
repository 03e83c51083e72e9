// Flags of nccl-tests, so that their command line can follow "busbar collective CLUSTER".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/cli/flags.h"
#include "busbar/collectives/schedule.h"

namespace busbar {

struct NcclTestsFlags {
  std::uint32_t gpus = 0, threads = 0;  ///< 0: not given
  std::uint32_t graph = 0;              ///< launches per CUDA graph; 0: no graph
  std::string datatype = "float", reduction = "sum";
  /// Accepted without effect: a prediction needs no repetition, check or buffer.
  std::uint32_t iterations = 0, warmups = 0, check = 0, parallel_init = 0, aggregated = 0, blocking = 0, average = 0,
                registered = 0;

  /// The number of ranks by -t and -g, over all nodes; 0: one per GPU.
  std::uint32_t ranks() const;
  /// Whether NCCL lets NVLink switches take part in `op`: sums except of small types; minima and maxima of integers and
  /// halves; and all collectives without reduction.
  bool switches_may_reduce(Collective op) const;
};
std::vector<Flag> nccl_tests_flags(NcclTestsFlags& flags);

}  // namespace busbar
