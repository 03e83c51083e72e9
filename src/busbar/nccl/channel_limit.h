// What NCCL assumes a channel to carry at most.
#pragma once

#include <optional>
#include <string_view>

#include "busbar/nccl/algorithms.h"
#include "busbar/nccl/comm.h"

namespace busbar::nccl {

struct NcclChannelLimit {
  std::string_view constant;  ///< its name in NCCL
  float GBps = 0;             ///< per channel of NcclComm::channels, in bytes that cross a link
};

/// The limit for rings or trees; rings have that of LL128 with each protocol, because NCCL states no other. Empty for
/// the other algorithms, whose limits NCCL does not state per channel, and for RCCL.
/// Source: NVIDIA NCCL 2.30.7, src/graph/tuning.cc. It multiplies the constants by the channels of the search, of each
/// of which it makes two, so a channel has half of the constant.
std::optional<NcclChannelLimit> nccl_channel_limit(const NcclComm& comm, NcclAlgorithm algorithm,
                                                   NcclProtocol protocol);

}  // namespace busbar::nccl
