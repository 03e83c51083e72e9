#include "busbar/choice/rooted_sums.h"

#include <algorithm>

#include "busbar/collectives/builders.h"

namespace busbar {

std::optional<Schedule> rooted_sums(Schedule sums, Collective op, std::uint32_t root) {
  const auto scratch = [](const Phase& p) {
    return p.source == Buffer::kScratch || p.work == Buffer::kScratch || p.result == Buffer::kScratch;
  };
  const auto leaves_out = [&](const Phase& p) {
    const bool first = &p == sums.phases.data() || (&p - 1)->channel != p.channel;
    const GroupFamily& family = sums.families[p.family];
    return first && family.groups() * family.size() != sums.ranks;
  };
  const auto any = [&](const auto& is) { return std::any_of(sums.phases.begin(), sums.phases.end(), is); };
  if (op == Collective::kReduce && (any(scratch) || any(leaves_out))) return std::nullopt;
  return for_root_alone(std::move(sums), op, root);
}

}  // namespace busbar
