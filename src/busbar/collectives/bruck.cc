#include "busbar/collectives/builders.h"
#include "busbar/collectives/internal/legality.h"

namespace busbar::collectives {

Result<Schedule> build_bruck(const ScheduleSpec& spec) {
  constexpr auto in = Buffer::kInput, out = Buffer::kOutput, tmp = Buffer::kScratch;
  if (spec.op == Collective::kAllGather) {
    Schedule s = blank_schedule(spec, spec.ranks);
    s.phases = {phase_of(Pattern::kBruckAllGather, in, out, out)};
    return s;
  }
  if (spec.op != Collective::kAllToAll) return not_built("bruck", spec.op);
  Schedule s = blank_schedule(spec, spec.ranks * spec.ranks);
  s.phases = {phase_of(Pattern::kBruckAllToAll, in, tmp, out)};
  return s;
}

}  // namespace busbar::collectives
