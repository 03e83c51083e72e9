// The kind of a route, determined from its links.
#pragma once

#include <cstdint>
#include <span>

#include "busbar/routing/link_share.h"

namespace busbar::routing {

enum class RouteKind : std::uint8_t {
  kNowhere,       ///< a device to itself
  kDirect,        ///< scale-up links straight to the peer
  kSwitched,      ///< scale-up links over switches
  kRelayed,       ///< scale-up links over other GPUs or chips
  kServer,        ///< PCIe or the host, in one block
  kNetwork,       ///< over NICs
  kNetworkRelay,  ///< over NICs, and scale-up links to or from a NIC's nearest GPU (PXN)
};

/// `links` are those that Router::spread gave for one pair.
RouteKind route_kind(const topology::Topology& topology, std::span<const LinkShare> links);

}  // namespace busbar::routing
