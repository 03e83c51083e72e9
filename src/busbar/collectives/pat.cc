#include "busbar/collectives/builders.h"
#include "busbar/collectives/internal/legality.h"

namespace busbar::collectives {

Result<Schedule> build_pat(const ScheduleSpec& spec) {
  Schedule s = blank_schedule(spec, spec.ranks);
  if (spec.op == Collective::kAllGather)
    s.phases = {phase_of(Pattern::kPatAllGather, Buffer::kInput, Buffer::kOutput, Buffer::kOutput)};
  else if (spec.op == Collective::kReduceScatter)
    s.phases = {phase_of(Pattern::kPatReduceScatter, Buffer::kInput, Buffer::kScratch, Buffer::kOutput)};
  else
    return not_built("pat", spec.op);
  return s;
}

}  // namespace busbar::collectives
