#include "busbar/routing/pair_copy.h"

#include <algorithm>

namespace busbar::routing {
namespace {

/// The rates of links between sockets are measured ones of such copies, so only PCIe loses to the two steps.
double staged_GBps(const topology::Topology& t, const PathView& view) {
  double least = 0;
  for (const PathHop& hop : view.hops) {
    const topology::LinkKind kind = t.link_class(hop.links[0].link).kind;
    const double rate = hop.payload_GBps * (kind == topology::LinkKind::kSocket ? 1 : kStagedShare);
    if (least == 0 || rate < least) least = rate;
  }
  return least;
}

}  // namespace

PairCopy pair_copy(const topology::Topology& t, const PathView& there, const PathView& back) {
  if (there.copied_in.empty()) return {there.payload_GBps, there.payload_GBps + back.payload_GBps};
  const double one = staged_GBps(t, there);
  return {one, std::max(one, staged_GBps(t, back))};
}

}  // namespace busbar::routing
