// How the host starts collectives, and what that takes before the first byte moves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/base/units.h"
#include "busbar/spec/catalog.h"
#include "busbar/spec/cluster.h"

namespace busbar {

/// "graph": captured in CUDA graphs; "loop": one process goes through its GPUs in a group; "process": one process per
/// GPU; "unknown": not stated, the mean of such measurements.
std::vector<std::string> launch_modes();
/// The mode that a measured table calls by a name of catalog/launches ("one-process-per-gpu"), else "unknown".
std::string launch_mode(std::string_view stated);
/// From catalog/launches. Error kInvalid with the modes there are.
Result<Duration> launch_time(std::string_view mode, const Catalog& catalog);
/// How training frameworks start them: "graph" where they capture kernels, else "process"; empty, the machine's own,
/// where neither NCCL nor RCCL drives the GPUs.
std::string launch_of_framework(const Cluster& cluster, bool cuda_graphs);

}  // namespace busbar
