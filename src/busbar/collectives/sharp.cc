// Aggregation in the network: every domain has a reducer (its leaf switch), and one more reducer joins these. Each tree
// is a channel with its own reducers.
#include <fmt/core.h>

#include "busbar/collectives/builders.h"
#include "busbar/collectives/internal/legality.h"

namespace busbar::collectives {
namespace {

Status check_limits(const ScheduleSpec& spec, std::uint32_t trees) {
  const auto refuse = [](std::string why) { return Error{ErrorCode::kUnsupported, std::move(why), {}}; };
  if (spec.ranks_per_group == 0 || spec.ranks % spec.ranks_per_group != 0)
    return refuse(
        fmt::format("sharp needs equal domains, and {} ranks do not divide into domains of {}; choose another "
                    "number of ranks or algorithm ring",
                    spec.ranks, spec.ranks_per_group));
  if (trees > spec.max_trees)
    return refuse(fmt::format("sharp has {} trees here, not {}; ask for fewer channels", spec.max_trees, trees));
  if (spec.message_bytes > spec.max_message_bytes)
    return refuse(fmt::format("sharp takes messages up to {} bytes here, not {}; choose another algorithm",
                              spec.max_message_bytes, spec.message_bytes));
  return {};
}

}  // namespace

Result<Schedule> build_sharp(const ScheduleSpec& spec) {
  constexpr auto in = Buffer::kInput, out = Buffer::kOutput, tmp = Buffer::kScratch;
  const bool up = spec.op != Collective::kBroadcast, down = spec.op != Collective::kReduce;  // for all ranks
  if (up && down && spec.op != Collective::kAllReduce) return not_built("sharp", spec.op);
  const std::uint32_t trees = spec.channels == 0 ? 1 : spec.channels, l = spec.ranks_per_group;
  BUSBAR_RETURN_IF_ERROR(check_limits(spec, trees));
  const std::uint32_t leaves = spec.ranks / l, per_tree = leaves > 1 ? leaves + 1 : 1;
  Schedule s = blank_schedule(spec, trees);
  if (spec.ranks == 1) return s;
  s.channels = trees;
  s.reducers = trees * per_tree;
  s.families.clear();
  const auto add = [&](std::uint32_t tree, Pattern pattern, GroupFamily f, Phase p, std::uint32_t hub) {
    if (s.families.empty() || !(s.families.back() == f)) s.families.push_back(std::move(f));
    p.pattern = pattern;
    p.channel = static_cast<std::uint16_t>(tree);
    p.chunk_base = tree;
    p.family = static_cast<std::uint16_t>(s.families.size() - 1);
    p.hub = hub;
    s.phases.push_back(p);
  };
  for (std::uint32_t t = 0; t < trees; ++t) {
    const std::uint32_t leaf = spec.ranks + t * per_tree, top = leaf + per_tree - 1;
    GroupFamily domains, joined = one_group(leaves), home = one_group(l);
    domains.outer = {Axis{.extent = leaves, .actor_stride = l}};
    domains.inner = {Axis{.extent = l, .actor_stride = 1}};
    joined.base = leaf;
    home.base = spec.root / l * l;
    Phase ranks = phase_of({}, in, tmp, out), switches = phase_of({}, tmp, tmp, tmp);
    const std::uint32_t own = leaf + spec.root / l;  // above the root
    ranks.root = spec.root % l;
    switches.root = spec.root / l;
    add(t, up ? Pattern::kHubReduce : Pattern::kHubUp, up ? domains : home, ranks, up ? leaf : own);
    if (leaves > 1) {
      add(t, up ? Pattern::kHubReduce : Pattern::kHubUp, joined, switches, top);
      add(t, down ? Pattern::kHubMulticast : Pattern::kHubDown, joined, switches, top);
    }
    add(t, down ? Pattern::kHubMulticast : Pattern::kHubDown, down ? domains : home, ranks, down ? leaf : own);
  }
  return s;
}

}  // namespace busbar::collectives
