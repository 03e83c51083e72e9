// Relief of what is no link: the memory of GPUs, features that are switched off.
#pragma once

#include <string>
#include <vector>

#include "busbar/predict/policy.h"
#include "busbar/spec/cluster.h"

namespace busbar {

/// A machine, or what is said of its library, with one thing relieved.
struct MachineChange {
  std::string what;  ///< "+10 % rate of GPU memory (HBM)"
  Cluster cluster;
  PredictPolicy policy;
  bool memory = false;
};
/// GPUDirect RDMA, access of GPUs to each other and NVLS where they are off; with `memory` that of all GPUs 10 %
/// faster. `policy`: as the machine was made with; NCCL's variables that switch the feature off go.
std::vector<MachineChange> machine_changes(const Cluster& cluster, const PredictPolicy& policy, bool memory);

}  // namespace busbar
