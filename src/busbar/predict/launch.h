// How the host starts collectives, and the time before the first byte moves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/base/units.h"
#include "busbar/spec/catalog.h"
#include "busbar/spec/cluster.h"

namespace busbar::predict {

/// "graph": captured in CUDA graphs; "loop": one process starts all its GPUs in a group; "process": one process per
/// GPU; "unknown": not stated, the mean of such measurements.
std::vector<std::string> launch_modes();
/// The mode for a name in catalog/launches that a measured table uses ("one-process-per-gpu"); otherwise "unknown".
std::string launch_mode(std::string_view stated);
struct Launch {
  Duration before;   ///< the first byte moves
  Duration per_gpu;  ///< the host needs to start one GPU, when it starts several in turn; otherwise 0
};
/// From catalog/launches. Error kInvalid lists the modes.
Result<Launch> launch_time(std::string_view mode, const spec::Catalog& catalog);
/// The mode of training frameworks: "graph" if they capture kernels, otherwise "process". Empty, the machine's own, if
/// neither NCCL nor RCCL supports the GPUs.
std::string launch_of_framework(const spec::Cluster& cluster, bool cuda_graphs);

}  // namespace busbar::predict
