#include "busbar/routing/no_path.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace busbar::routing {
namespace {

/// The fewest live scale-up links in a row from one device to another of its block; 0: there are none.
std::uint32_t links_apart(const topology::Topology& t, topology::DeviceId from, topology::DeviceId to) {
  std::vector<topology::DeviceId> reached{from}, next;
  std::vector<bool> known(t.device_count());
  known[index(from)] = true;
  for (std::uint32_t links = 1; !reached.empty(); ++links, reached.swap(next), next.clear())
    for (const topology::DeviceId at : reached)
      for (const topology::LinkId l : t.out_links(at)) {
        const topology::DeviceId there = t.to(l);
        if (known[index(there)] || t.failed(l) || !topology::is_scale_up(t.link_class(l).kind)) continue;
        if (there == to) return links;
        known[index(there)] = true;
        next.push_back(there);
      }
  return 0;
}

}  // namespace

Error no_path(const topology::Topology& t, topology::DeviceId from, topology::DeviceId to) {
  const std::uint32_t apart = t.block_of(from) == t.block_of(to) ? links_apart(t, from, to) : 0;
  const std::string pair = fmt::format("no live path from {} to {}", t.name(from), t.name(to));
  if (apart == 0) return Error{ErrorCode::kUnreachable, pair + "; check failed links and the fabric", {}};
  return Error{ErrorCode::kUnreachable,
               fmt::format("{}: they are {} links apart, and what GPUs send over such links only one GPU between them "
                           "passes on; collectives in which GPUs send to their neighbours are possible",
                           pair, apart),
               {}};
}

}  // namespace busbar::routing
