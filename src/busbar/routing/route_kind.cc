#include "busbar/routing/internal/route_kind.h"

namespace busbar::routing {

RouteKind route_kind(const topology::Topology& t, std::span<const LinkShare> links) {
  if (links.empty()) return RouteKind::kNowhere;
  const topology::DeviceId first = t.from(links.front().link), last = t.to(links.back().link);
  bool fabric = false, server = false, relayed = false, switched = false;
  for (const LinkShare& l : links) {
    const topology::LinkKind kind = t.link_class(l.link).kind;
    fabric = fabric || topology::is_fabric(kind);
    server = server || topology::is_in_server(kind);
    const topology::DeviceId to = t.to(l.link);
    if (to == last || to == first) continue;
    (t.kind(to) == topology::DeviceKind::kGpu ? relayed : switched) = true;
  }
  if (fabric) return relayed ? RouteKind::kNetworkRelay : RouteKind::kNetwork;
  if (server) return RouteKind::kServer;
  return relayed ? RouteKind::kRelayed : switched ? RouteKind::kSwitched : RouteKind::kDirect;
}

}  // namespace busbar::routing
