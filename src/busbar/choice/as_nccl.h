// NCCL's choice, expressed by the names of our schedules.
#pragma once

#include <string>
#include <string_view>

#include "busbar/engine/engine.h"
#include "busbar/nccl/tuning.h"

namespace busbar::choice {

/// Facts that a cluster file states and a topology does not have.
struct NcclSurroundings {
  std::string_view fabric_kind;  ///< as in FabricSummary: "rail-optimised"
  bool gpudirect = true, p2p = true;
  topology::NicMerging merges_nics = topology::NicMerging::kByCard;
};
/// On a fabric of rails NCCL_CROSS_NIC is taken to be 0: NCCL's documentation advises it for networks with one switch
/// per NIC, and rings in public logs of such machines show it. Elsewhere NCCL's default applies.
nccl::NcclSettings nccl_settings(const NcclSurroundings& around, nccl::NcclVersion version = {});

/// "as NCCL 2.30 chooses"; for RCCL also the origin of its rings.
std::string words_of_choice(const nccl::NcclComm& comm);

}  // namespace busbar::choice
