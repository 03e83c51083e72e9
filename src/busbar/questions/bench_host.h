// This host, as measured, as a machine that predictions take.
#pragma once

#include <string>

#include "busbar/runtime/calibrating_runs.h"

namespace busbar::questions {

/// How ranks were measured, and for buffers of which size the file holds.
struct BenchMachine {
  std::string name;  ///< of the host
  std::uint32_t ranks = 2, cores = 1;
  std::uint64_t bytes = 0;
  bool adds = true;    ///< the collective adds up, so half of what arrives costs an addition
  bool keeps = false;  ///< what ranks read never changes, and none waits for an answer: a gather, a scatter
};

/// A cluster file. Ranks are GPUs that copy from each other through host memory; each receiver moves its bytes with the
/// rate of its core, and all together with that of all cores.
std::string host_cluster_yaml(const runtime::RunRates& rates, const BenchMachine& machine);

/// Bytes of a message that moves as one step, so that chains and trees pipeline.
inline constexpr std::uint64_t kBenchPiece = 256 << 10;

}  // namespace busbar::questions
