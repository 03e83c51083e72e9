// This host, as measured, as a machine that predictions take.
#pragma once

#include <string>

#include "busbar/collectives/schedule.h"
#include "busbar/runtime/calibrating_runs.h"

namespace busbar::questions {

/// Who moves data at the same time, which says which of the rates hold.
enum class BenchTraffic : std::uint8_t {
  kCopies,   ///< all ranks take in
  kAdds,     ///< the same, and half of what arrives costs an addition
  kGather,   ///< one rank takes in what never changes, so it may stay in its cache, and no rank waits for an answer
  kScatter,  ///< the same of all other ranks: their cores copy, that of the root does nothing
};
BenchTraffic traffic_of(collectives::Collective op);

/// How ranks were measured, and for buffers of which size the file holds.
struct BenchMachine {
  std::string name;  ///< of the host
  std::uint32_t ranks = 2, cores = 1;
  std::uint64_t bytes = 0;
  BenchTraffic traffic = BenchTraffic::kAdds;
  double slower = 1;  ///< times by which runs take longer than rates of rings, gather and scatter let expect
};

/// A cluster file. Ranks are GPUs that copy from each other through host memory; each receiver moves its bytes with the
/// rate of its core, and all together with that of all cores.
std::string host_cluster_yaml(const runtime::RunRates& rates, const BenchMachine& machine);

/// Bytes of a message that moves as one step, so that chains and trees pipeline.
inline constexpr std::uint64_t kBenchPiece = 256 << 10;

}  // namespace busbar::questions
