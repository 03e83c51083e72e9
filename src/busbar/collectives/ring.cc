#include "busbar/collectives/builders.h"
#include "busbar/collectives/internal/legality.h"

namespace busbar::collectives {
namespace {

Phase ring_phase(Pattern pattern, Buffer source, Buffer work) {
  return phase_of(pattern, source, work, Buffer::kOutput);
}

}  // namespace

Result<Schedule> build_ring(Collective op, std::uint32_t ranks, std::uint32_t root) {
  BUSBAR_RETURN_IF_ERROR(check_ranks(ranks, root));
  Schedule s;
  s.algorithm = "ring";
  s.op = op;
  s.ranks = s.chunks = ranks;
  s.root = root;
  s.families = {one_group(ranks)};
  switch (op) {
    case Collective::kAllReduce:
      s.phases = {ring_phase(Pattern::kRingReduceScatter, Buffer::kInput, Buffer::kOutput),
                  ring_phase(Pattern::kRingAllGather, Buffer::kOutput, Buffer::kOutput)};
      return s;
    case Collective::kAllGather:
      s.phases = {ring_phase(Pattern::kRingAllGather, Buffer::kInput, Buffer::kOutput)};
      return s;
    case Collective::kReduceScatter:
      s.phases = {ring_phase(Pattern::kRingReduceScatter, Buffer::kInput, Buffer::kScratch)};
      return s;
    case Collective::kBroadcast:
      s.phases = {ring_phase(Pattern::kChainBroadcast, Buffer::kInput, Buffer::kOutput)};
      break;
    case Collective::kReduce:
      s.phases = {ring_phase(Pattern::kChainReduce, Buffer::kInput, Buffer::kScratch)};
      break;
    default:
      return not_built("ring", op);
  }
  s.chunks = 1;  // a chain forwards one piece; the engines cut it further to pipeline it
  s.phases[0].root = root;
  return s;
}

Result<Schedule> build_ring(const ScheduleSpec& spec) { return build_ring(spec.op, spec.ranks, spec.root); }

}  // namespace busbar::collectives
