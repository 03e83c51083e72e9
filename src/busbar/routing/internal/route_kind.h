// What sort of way a payload took, from the links it crossed.
#pragma once

#include <cstdint>
#include <span>

#include "busbar/routing/link_share.h"

namespace busbar {

enum class RouteKind : std::uint8_t {
  kNowhere,       ///< a device to itself
  kDirect,        ///< scale-up links straight to the peer
  kSwitched,      ///< scale-up links over switches
  kRelayed,       ///< scale-up links over other GPUs or chips
  kServer,        ///< PCIe or the host, inside one block
  kNetwork,       ///< over NICs
  kNetworkRelay,  ///< over NICs, and over scale-up links to or from the GPU that sits beside one (PXN)
};
const char* name_of(RouteKind kind);  ///< "direct", "network-relay", ...

/// Of the links that Router::spread gave for one pair.
RouteKind route_kind(const Topology& topology, std::span<const LinkShare> links);

}  // namespace busbar
