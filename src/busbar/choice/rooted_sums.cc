#include "busbar/choice/rooted_sums.h"

#include <algorithm>

#include "busbar/collectives/builders.h"

namespace busbar::choice {

std::optional<collectives::Schedule> rooted_sums(collectives::Schedule sums, collectives::Collective op,
                                                 std::uint32_t root) {
  const auto scratch = [](const collectives::Phase& p) {
    return p.source == collectives::Buffer::kScratch || p.work == collectives::Buffer::kScratch ||
           p.result == collectives::Buffer::kScratch;
  };
  const auto leaves_out = [&](const collectives::Phase& p) {
    const bool first = &p == sums.phases.data() || (&p - 1)->channel != p.channel;
    const collectives::GroupFamily& family = sums.families[p.family];
    return first && family.groups() * family.size() != sums.ranks;
  };
  const auto any = [&](const auto& is) { return std::any_of(sums.phases.begin(), sums.phases.end(), is); };
  if (op == collectives::Collective::kReduce && (any(scratch) || any(leaves_out))) return std::nullopt;
  return collectives::for_root_alone(std::move(sums), op, root);
}

}  // namespace busbar::choice
