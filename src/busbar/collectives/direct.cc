#include <fmt/core.h>

#include "busbar/collectives/builders.h"
#include "busbar/collectives/internal/legality.h"

namespace busbar::collectives {

Result<Schedule> build_direct(const ScheduleSpec& spec) {
  constexpr auto in = Buffer::kInput, out = Buffer::kOutput;
  const bool pairs = spec.op == Collective::kAllToAll || spec.op == Collective::kAllToAllV;
  if (spec.op == Collective::kSendRecv) {
    if (spec.root != 0)
      return Error{ErrorCode::kUnsupported, fmt::format("send_recv has no root, here it is {}", spec.root), {}};
    if (spec.ranks == 2) return build_send_recv();
    Schedule ring = blank_schedule(spec, spec.ranks);
    ring.parts = 1;
    ring.phases = {phase_of(Pattern::kDirectShift, in, out, out)};
    return ring;
  }
  Schedule s = blank_schedule(spec, pairs ? spec.ranks * spec.ranks : spec.ranks);
  switch (spec.op) {
    case Collective::kAllReduce:
      s.phases = {phase_of(Pattern::kDirectReduceScatter, in, out, out),
                  phase_of(Pattern::kDirectAllGather, out, out, out)};
      return s;
    case Collective::kReduceScatter:
      s.phases = {phase_of(Pattern::kDirectReduceScatter, in, out, out)};
      return s;
    case Collective::kAllGather:
      s.phases = {phase_of(Pattern::kDirectAllGather, in, out, out)};
      return s;
    case Collective::kBroadcast:
      s.phases = {phase_of(Pattern::kDirectScatter, in, out, out), phase_of(Pattern::kDirectAllGather, out, out, out)};
      break;
    case Collective::kReduce:
      s.phases = {phase_of(Pattern::kDirectReduceScatter, in, out, out),
                  phase_of(Pattern::kDirectGather, out, out, out)};
      break;
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
      s.phases = {phase_of(Pattern::kDirectAllToAll, in, out, out)};
      return s;
    case Collective::kGather:
      s.phases = {phase_of(Pattern::kDirectGather, in, out, out)};
      break;
    case Collective::kScatter:
      s.phases = {phase_of(Pattern::kDirectScatter, in, out, out)};
      break;
    default:
      return not_built("direct", spec.op);
  }
  s.phases[0].root = s.phases.back().root = spec.root;
  return s;
}

Schedule build_one_shot(std::uint32_t ranks) {
  ScheduleSpec spec;
  spec.op = Collective::kAllReduce;
  spec.ranks = ranks;
  Schedule s = blank_schedule(spec, 1);
  s.algorithm = "one_shot";
  s.traits.sends_flags = true;
  s.phases = {phase_of(Pattern::kDirectAllReduce, Buffer::kInput, Buffer::kOutput, Buffer::kOutput)};
  return s;
}

}  // namespace busbar::collectives
