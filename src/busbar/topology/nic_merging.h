// Which NICs the network plugin of a communication library merges and drives as one.
#pragma once

#include <cstdint>

namespace busbar::topology {

/// Whether a library merges NICs also depends on its release.
enum class NicMerging : std::uint8_t {
  kNone,    ///< none are merged
  kByCard,  ///< the ports of one card: NCCL, src/graph/topo.cc
  kByGpu,   ///< those next to the same GPU: aws-ofi-nccl, src/nccl_ofi_topo.cpp
};
inline const char* name_of(NicMerging merging) {
  constexpr const char* kNames[] = {"none", "by_card", "by_gpu"};
  return kNames[static_cast<int>(merging)];
}

}  // namespace busbar::topology
