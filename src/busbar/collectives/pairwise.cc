#include "busbar/collectives/builders.h"
#include "busbar/collectives/internal/legality.h"

namespace busbar::collectives {

Result<Schedule> build_pairwise(const ScheduleSpec& spec) {
  Schedule s = blank_schedule(spec, spec.ranks * spec.ranks);
  s.phases = {phase_of(Pattern::kPairwiseAllToAll, Buffer::kInput, Buffer::kOutput, Buffer::kOutput)};
  return s;
}

}  // namespace busbar::collectives
