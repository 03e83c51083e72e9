// The one way that a hash picks, for NICs with one port. The result equals Router::State::across_straight, without
// shares.
#include "busbar/base/random.h"
#include "busbar/routing/internal/router_state.h"

namespace busbar::routing {

std::int32_t Router::State::only_switch(topology::DeviceId nic) const {
  std::int32_t found = -1;
  for (const topology::LinkId l : topology.out_links(nic)) {
    const std::int32_t s = fabric.number(topology.to(l));
    if (s >= 0 && found >= 0 && s != found) return -1;
    if (s >= 0) found = s;
  }
  return found;
}

/// From switch `at`, `hops` links before `to`, whose only switch is `last`.
bool Router::State::across_hashed(topology::DeviceId at, topology::DeviceId to, std::uint32_t last, int hops,
                                  std::uint64_t flow, std::vector<LinkShare>& out) {
  std::vector<topology::LinkId>& candidates = front.candidates;
  for (; hops > 0; --hops) {
    candidates.clear();
    if (hops == 1) {
      for (const topology::LinkId l : topology.out_links(to))
        if (topology.to(l) == at) candidates.push_back(topology::reverse(l));
    } else {
      fabric.links_towards(static_cast<std::uint32_t>(fabric.number(at)), last, hops - 2, candidates);
    }
    const std::uint64_t h = candidates.size() == 1 ? 0 : mix64(flow ^ mix64(seed ^ index(at)));
    out.push_back({candidates[h % candidates.size()], 1});
    at = topology.to(out.back().link);
  }
  return true;
}

}  // namespace busbar::routing
