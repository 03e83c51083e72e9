#include "busbar/routing/internal/pair_walk.h"

#include <algorithm>

namespace busbar::routing {

void PairWalk::aim(std::span<const std::uint32_t> ports, std::span<const double> latency_ps) {
  rows_.resize(topology_.fabric_switches().size());
  ports_.assign(ports.begin(), ports.end());
  latency_ps_ = latency_ps;
  hops_.clear();
  ++target_;
}

int PairWalk::hops(std::uint32_t from) {
  int best = FabricTable::kFar;
  for (const std::uint32_t p : ports_) best = std::min(best, fabric_.distance(from, p) + 1);
  return best;
}

int PairWalk::nearer(std::uint32_t from) const {
  int best = FabricTable::kFar;
  for (const std::uint32_t p : ports_) best = std::min(best, fabric_.nearer(p, from) + 1);
  return best;
}

void PairWalk::make(std::uint32_t at) {
  Row& r = rows_[at];
  r = {static_cast<std::uint32_t>(hops_.size()), 0, target_, false, 0};
  const int left = nearer(at);
  r.last = left == 1;
  if (r.last) {
    for (std::uint32_t p = 0; p < ports_.size(); ++p)
      if (ports_[p] == at) hops_.push_back({static_cast<topology::LinkId>(p), at, 0});
  } else {
    for (const FabricTable::Hop& hop : fabric_.hops(at))
      if (nearer(hop.to) == left - 1)
        hops_.push_back({hop.link, hop.to, latency_ps_[topology_.link_class_index(hop.link)]});
  }
  r.count = static_cast<std::uint32_t>(hops_.size()) - r.first;
  r.salt = mix64(seed_ ^ index(topology_.fabric_switches()[at]));
}

}  // namespace busbar::routing
