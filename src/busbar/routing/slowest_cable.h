// The cable that limits a bundle, whose cables all carry the same load.
#pragma once

#include "busbar/routing/fabric_bundles.h"

namespace busbar::routing {

/// The slowest cable by `rate_of(LinkId)`; the first if several are equal.
template <typename Rate>
topology::LinkId slowest_cable(const FabricBundles& bundles, std::uint32_t bundle, const Rate& rate_of) {
  topology::LinkId slowest = bundles.first(bundle);
  for (std::uint32_t i = 1; i < bundles.width(bundle); ++i)
    if (rate_of(bundles.link(bundle, i)) < rate_of(slowest)) slowest = bundles.link(bundle, i);
  return slowest;
}

}  // namespace busbar::routing
