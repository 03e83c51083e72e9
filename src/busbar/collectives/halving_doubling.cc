#include "busbar/collectives/builders.h"
#include "busbar/collectives/internal/legality.h"

namespace busbar::collectives {

Result<Schedule> build_halving_doubling(const ScheduleSpec& spec) {
  constexpr auto in = Buffer::kInput, out = Buffer::kOutput, tmp = Buffer::kScratch;
  Schedule s = blank_schedule(spec, spec.ranks);
  switch (spec.op) {
    case Collective::kAllReduce:
      s.phases = {phase_of(Pattern::kHalvingReduceScatter, in, out, out),
                  phase_of(Pattern::kDoublingAllGather, out, out, out)};
      return s;
    case Collective::kReduceScatter:
      s.phases = {phase_of(Pattern::kHalvingReduceScatter, in, tmp, out)};
      return s;
    case Collective::kAllGather:
      s.phases = {phase_of(Pattern::kDoublingAllGather, in, out, out)};
      return s;
    default:
      return not_built(s.algorithm, spec.op);
  }
}

}  // namespace busbar::collectives
