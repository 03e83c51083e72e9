#include "busbar/routing/internal/route_kind.h"

namespace busbar {

RouteKind route_kind(const Topology& t, std::span<const LinkShare> links) {
  if (links.empty()) return RouteKind::kNowhere;
  const DeviceId first = t.from(links.front().link), last = t.to(links.back().link);
  bool fabric = false, server = false, relayed = false, switched = false;
  for (const LinkShare& l : links) {
    const LinkKind kind = t.link_class(l.link).kind;
    fabric = fabric || is_fabric(kind);
    server = server || is_in_server(kind);
    const DeviceId to = t.to(l.link);
    if (to == last || to == first) continue;
    (t.kind(to) == DeviceKind::kGpu ? relayed : switched) = true;
  }
  if (fabric) return relayed ? RouteKind::kNetworkRelay : RouteKind::kNetwork;
  if (server) return RouteKind::kServer;
  return relayed ? RouteKind::kRelayed : switched ? RouteKind::kSwitched : RouteKind::kDirect;
}

}  // namespace busbar
