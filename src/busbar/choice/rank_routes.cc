#include "busbar/choice/rank_routes.h"

namespace busbar {

RankRoutes::RankRoutes(const Router& router, const Placement& placement, const CollectiveCall& call)
    : ranks_(call.groups.size()) {
  const Topology& t = router.topology();
  std::vector<std::uint32_t> number(t.link_count(), 0);  // 1 + dense number; 0: not met yet
  std::vector<LinkShare> path;
  begin_.push_back(0);
  for (std::uint32_t a = 0; a < ranks_; ++a)
    for (std::uint32_t b = 0; b < ranks_; ++b) {
      path.clear();
      const std::uint32_t from = call.groups.actor(0, a), to = call.groups.actor(0, b);
      const std::uint64_t flow = (std::uint64_t{from} << 32) | to;
      const bool found = a != b && router
                                       .spread(placement.gpu(from), placement.gpu(to), placement.nic(from, 0),
                                               placement.nic(to, 0), flow, path)
                                       .ok();
      for (const LinkShare& s : found ? std::span(path) : std::span<LinkShare>()) {
        std::uint32_t& k = number[index(s.link)];
        if (k == 0) k = ++links_;
        parts_.push_back({k - 1, s.share / (t.payload_rate(s.link) * 1e-12)});
      }
      begin_.push_back(parts_.size());
    }
}

}  // namespace busbar
