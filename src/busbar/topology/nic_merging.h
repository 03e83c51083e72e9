// Which NICs a communication library's network plugin takes together and drives as one.
#pragma once

#include <cstdint>

namespace busbar {

/// Whether a library does so also depends on its release.
enum class NicMerging : std::uint8_t {
  kNone,    ///< every NIC for itself
  kByCard,  ///< the ports of one card: NCCL, src/graph/topo.cc
  kByGpu,   ///< those that a GPU has next to it: aws-ofi-nccl, src/nccl_ofi_topo.cpp
};
inline const char* name_of(NicMerging merging) {
  constexpr const char* kNames[] = {"none", "by_card", "by_gpu"};
  return kNames[static_cast<int>(merging)];
}

}  // namespace busbar
