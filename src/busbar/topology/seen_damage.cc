#include "busbar/topology/seen_damage.h"

#include <algorithm>

namespace busbar::topology {

bool is_seen(const Damage& damage) { return damage.name.ends_with(kSeen); }

double seen_share(const Topology& topology, LinkId link) {
  if (topology.link_class(link).health == 1) return 1;
  double share = 1;
  for (const Damage& d : topology.damage()) {
    const auto is_link = [&](LinkId l) { return l == link || reverse(l) == link; };
    if (is_seen(d) && std::any_of(d.links.begin(), d.links.end(), is_link)) share *= d.left;
  }
  return share;
}

}  // namespace busbar::topology
