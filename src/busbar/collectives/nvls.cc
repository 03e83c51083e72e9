// In-switch reduction and multicast in each scale-up domain: a rank takes its piece of the sum from the switch and
// sends it to all through the switch. Across domains, the ranks at the same place form rings.
#include <fmt/core.h>

#include "busbar/collectives/builders.h"
#include "busbar/collectives/internal/legality.h"
#include "busbar/collectives/internal/levels.h"

namespace busbar::collectives {

Result<Schedule> build_nvls(const ScheduleSpec& spec) {
  const std::uint32_t l = spec.ranks_per_group;
  if (l == 0 || spec.ranks % l != 0)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("nvls needs equal domains, and {} ranks do not divide into domains of {}; choose another "
                             "number of ranks or algorithm ring",
                             spec.ranks, l),
                 {}};
  const RankLevel levels[] = {{l, 1, LevelAlgorithm::kNvls}, {spec.ranks / l, l, LevelAlgorithm::kRing}};
  const bool whole = spec.op == Collective::kBroadcast || spec.op == Collective::kReduce;
  Schedule s = blank_schedule(spec, whole ? 1 : spec.ranks);
  s.families.clear();
  if (!whole) s.layout = layout_of(levels);
  BUSBAR_RETURN_IF_ERROR(add_levels(s, levels, 0, 0));
  return s;
}

}  // namespace busbar::collectives
