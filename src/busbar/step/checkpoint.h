// Saving and loading the state of a training run over the links of its servers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/engine/flow/flow_list_run.h"
#include "busbar/routing/router.h"

namespace busbar::step {

struct CheckpointPath {
  bool drives = false;  ///< to the NVMe drives of the server; else to a store behind its storage NICs
  bool direct = false;  ///< GPUDirect Storage: without a copy in host memory
};
/// All ranks at once. The store itself is not counted: it adds max(time, bytes / its rate).
struct CheckpointTimes {
  double save_s = 0, load_s = 0;                ///< between the GPUs' memory and drives or storage NICs
  double copy_s = 0;                            ///< from the GPUs' memory to host memory
  std::string save_link, load_link, copy_link;  ///< that each waits for: "node0.pcie0->node0.cpu0"
  std::vector<engine::LinkUse> written;         ///< of one server of each kind: bytes out of its copy in host memory
};
/// `gpus`: of each rank; `bytes`: of each rank. Servers do not share links up to their storage NICs, so one of each
/// kind is run as fluids: every rank writes to the nearest drives, or by the nearest storage NICs (NICs without a cable
/// to the fabric; others where there are none). A write into host memory and the write out of it run at the same time.
/// Errors: kUnsupported if the servers have no drives or NICs.
Result<CheckpointTimes> checkpoint_times(const routing::Router& router, std::span<const topology::DeviceId> gpus,
                                         std::span<const double> bytes, const CheckpointPath& path);

}  // namespace busbar::step
