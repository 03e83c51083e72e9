// What NCCL would take, in the names of our schedules.
#pragma once

#include <string>
#include <string_view>

#include "busbar/engine/engine.h"
#include "busbar/nccl/tuning.h"

namespace busbar {

/// What a cluster file says and a topology does not.
struct NcclSurroundings {
  std::string_view fabric_kind;  ///< as in FabricSummary: "rail-optimised"
  bool gpudirect = true, p2p = true;
  NicMerging merges_nics = NicMerging::kByCard;
};
/// On a fabric of rails NCCL_CROSS_NIC is taken to be 0, as NCCL's documentation advises for networks with a switch per
/// NIC and as the rings of public logs of such machines show; else NCCL's own default.
NcclSettings nccl_settings(const NcclSurroundings& around, NcclVersion version = {});

/// Our algorithm for one of NCCL's: "ring", "tree", "nvls", "hierarchical(nvls,tree)", "pat", "sharp", "direct".
std::string schedule_name(NcclAlgorithm algorithm);
/// "as NCCL 2.30 chooses"; of RCCL also where its rings come from.
std::string words_of_choice(const NcclComm& comm);

}  // namespace busbar
