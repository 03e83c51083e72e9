// What a user sets by NCCL_* variables, and what cannot be read from a topology.
#pragma once

#include <optional>

#include "busbar/nccl/version.h"
#include "busbar/topology/nic_merging.h"
#include "busbar/topology/path_type.h"

namespace busbar {

struct NcclSettings {
  NcclVersion version;
  int cross_nic = 2;                    ///< NCCL_CROSS_NIC: 0 never, 1 always, 2 where it helps
  bool p2p = true;                      ///< not NCCL_P2P_DISABLE
  bool gdr = true;                      ///< NICs reach GPU memory
  bool pxn = true;                      ///< not NCCL_PXN_DISABLE
  bool nvb = true;                      ///< not NCCL_NVB_DISABLE
  bool nvls = true;                     ///< NCCL_NVLS_ENABLE
  bool collnet = false;                 ///< NCCL_COLLNET_ENABLE, with a plugin that reduces in the network
  NicMerging merges_nics = NicMerging::kByCard;  ///< what the network plugin offers
  PathType merge_level = PathType::kNvl;         ///< NCCL_NET_MERGE_LEVEL; kNvl stands for its PORT, kLoc is off
  std::optional<PathType> p2p_level;    ///< NCCL_P2P_LEVEL
  std::optional<PathType> gdr_level;    ///< NCCL_NET_GDR_LEVEL
  std::uint32_t min_channels = 0;       ///< NCCL_MIN_NCHANNELS, NCCL_MIN_CTAS; 0: not set
  std::uint32_t max_channels = 64;      ///< NCCL_MAX_NCHANNELS
  std::uint32_t nvls_channels = 0;      ///< NCCL_NVLS_NCHANNELS; 0: by rule
  std::uint32_t channels_per_peer = 0;  ///< NCCL_NCHANNELS_PER_NET_PEER; 0: by rule
};

}  // namespace busbar
