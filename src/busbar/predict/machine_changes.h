// Relief by another machine or policy: repaired damage, the memory of GPUs, and features that are switched off.
#pragma once

#include <string>
#include <vector>

#include "busbar/predict/policy.h"
#include "busbar/spec/cluster.h"

namespace busbar::predict {

/// A machine, or its library's policy, with one improvement.
struct MachineChange {
  std::string what;  ///< "+10 % rate of GPU memory (HBM)"
  spec::Cluster cluster;
  PredictPolicy policy;
  bool memory = false;
};
/// Repairs the worst damages, each as a whole, so that the library chooses NICs again. Switches on GPUDirect RDMA,
/// peer access between GPUs, and NVLS, each if it is off; with `memory`, makes the memory of all GPUs 10 % faster.
/// `policy`: the machine's policy; variables of NCCL that switch the feature off are removed.
std::vector<MachineChange> machine_changes(const spec::Cluster& cluster, const PredictPolicy& policy, bool memory);

}  // namespace busbar::predict
