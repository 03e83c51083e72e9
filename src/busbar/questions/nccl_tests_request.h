// Flags of nccl-tests, so that their command line can follow "busbar collective CLUSTER".
#pragma once

#include <cstdint>
#include <string>

#include "busbar/base/record.h"
#include "busbar/collectives/schedule.h"
#include "busbar/nccl/registration.h"

namespace busbar::questions {

struct NcclTestsRequest {
  std::uint32_t gpus = 0, threads = 0;  ///< 0: not given
  std::uint32_t cudagraph = 0;          ///< launches per CUDA graph; 0: no graph
  std::string datatype = "float", reduction = "sum";
  /// Accepted without effect: a prediction needs no repetition, check or buffer.
  std::uint32_t iters = 0, warmup_iters = 0, check = 0, parallel_init = 0, agg_iters = 0, blocking = 0, average = 0;
  std::uint32_t local_register = 0;  ///< in the order of nccl::Registration

  /// The number of ranks by -t and -g, over all nodes; 0: one per GPU.
  std::uint32_t ranks() const;
  /// Whether NCCL lets NVLink switches take part in `op`: sums except of small types; minima and maxima of integers and
  /// halves; and all collectives without reduction.
  bool switches_may_reduce(collectives::Collective op) const;
  /// Size of the type, and whether NCCL's symmetric kernels reduce it: sums and averages of floating point up to 32
  /// bits.
  nccl::NcclElements elements() const;
};
const Record& record_of(const NcclTestsRequest*);

}  // namespace busbar::questions
