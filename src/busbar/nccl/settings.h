// The settings made with NCCL_* variables, and machine properties that a topology does not contain.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "busbar/base/shortcuts.h"
#include "busbar/nccl/algorithms.h"
#include "busbar/nccl/registration.h"
#include "busbar/nccl/version.h"
#include "busbar/topology/nic_merging.h"
#include "busbar/topology/path_type.h"

namespace busbar::nccl {

/// Shortcuts change no result: settings that differ in them alone are equal.
struct UncomparedShortcuts : Shortcuts {
  UncomparedShortcuts() = default;
  UncomparedShortcuts(const Shortcuts& s) : Shortcuts(s) {}
  bool operator==(const UncomparedShortcuts&) const { return true; }
};

struct NcclSettings {
  NcclVersion version;
  // Properties of the machine, unless a variable overrides them.
  int cross_nic = 2;          ///< NCCL_CROSS_NIC: 0 never, 1 always, 2 where it helps
  bool p2p_over_pcie = true;  ///< GPUs can reach each other over PCIe
  bool gdr = true;            ///< NICs access GPU memory directly
  topology::NicMerging merges_nics = topology::NicMerging::kByCard;  ///< as the network plugin merges them
  // Paths.
  std::optional<topology::PathType> p2p_level;  ///< NCCL_P2P_LEVEL; kLoc: NCCL_P2P_DISABLE
  std::optional<topology::PathType> gdr_level;  ///< NCCL_NET_GDR_LEVEL
  bool shm = true;                              ///< not NCCL_SHM_DISABLE
  std::optional<bool> pxn;                      ///< NCCL_PXN_DISABLE; empty: on, or with RCCL by the number of ranks
  bool pxn_c2c = true, gdr_c2c = true;  ///< NCCL_PXN_C2C, NCCL_NET_GDR_C2C: NICs behind a C2C link count as near
  bool nvb = true;                      ///< not NCCL_NVB_DISABLE
  bool sockets = false;                 ///< TCP instead of RDMA: NCCL_NET=Socket, NCCL_IB_DISABLE. Sockets
                                        ///< copy through host memory and merge no NICs
  topology::PathType merge_level =
      topology::PathType::kNvl;  ///< NCCL_NET_MERGE_LEVEL; kNvl stands for its PORT, kLoc is off
  // Algorithms.
  NcclAllowedAll allowed{};              ///< NCCL_ALGO, NCCL_PROTO
  bool rccl_models = true;               ///< not RCCL_MODEL_MATCHING_DISABLE
  bool rccl_reversal = true;             ///< not RCCL_MODEL_REVERSAL_DISABLE
  bool rccl_rail_trees = true;           ///< not RCCL_DISABLE_RAIL_TREES
  bool rccl_ll128 = false;               ///< RCCL_LL128_FORCE_ENABLE
  bool nvls = true;                      ///< NCCL_NVLS_ENABLE
  bool collnet = false;                  ///< NCCL_COLLNET_ENABLE, with a plugin that reduces in the network
  std::uint32_t collnet_nodes = 2;       ///< NCCL_COLLNET_NODE_THRESHOLD
  std::optional<bool> pat;               ///< NCCL_PAT_ENABLE; empty: by NCCL's rule
  std::optional<float> net_overhead_us;  ///< NCCL_NET_OVERHEAD; empty: by type of processor
  // Channels and threads; 0: by rule.
  std::uint32_t min_channels = 0;       ///< NCCL_MIN_NCHANNELS, NCCL_MIN_CTAS
  std::uint32_t max_channels = 0;       ///< NCCL_MAX_NCHANNELS, NCCL_MAX_CTAS
  std::uint32_t nvls_channels = 0;      ///< NCCL_NVLS_NCHANNELS
  std::uint32_t channels_per_peer = 0;  ///< NCCL_NCHANNELS_PER_NET_PEER
  std::uint32_t threads = 0;            ///< NCCL_NTHREADS, for Simple and LL
  // Bytes; 0: by rule.
  std::array<std::uint64_t, kNcclProtocols> buffers{};  ///< NCCL_LL_BUFFSIZE, NCCL_LL128_BUFFSIZE, NCCL_BUFFSIZE
  std::uint64_t nvls_chunk = 0;                         ///< NCCL_NVLS_CHUNKSIZE
  std::uint64_t nvls_tree_chunk = 0;                    ///< NCCL_NVLSTREE_MAX_CHUNKSIZE
  NcclBuffers registered{};
  UncomparedShortcuts shortcuts{};

  bool operator==(const NcclSettings&) const = default;
};

}  // namespace busbar::nccl
