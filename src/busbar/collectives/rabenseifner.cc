// Thakur, Rabenseifner, Gropp 2005, sections 4.4 and 4.5: reduce-scatter by halving, then all-gather or gather; ranks
// beyond a power of two first fold into the others. Broadcast: scatter, then all-gather (van de Geijn).
#include <bit>

#include "busbar/collectives/builders.h"
#include "busbar/collectives/internal/legality.h"

namespace busbar::collectives {
namespace {

using enum Buffer;

/// Ranks i < n - p and i + p first halve their two buffers between them, and the lower one takes both halves. At the
/// end it returns the result. Ranks without a partner already have their input in the output buffer.
void add_all_reduce(Schedule& s) {
  const std::uint32_t p = std::bit_floor(s.ranks), extra = s.ranks - p;
  s.chunks = p;
  s.families = {one_group(p)};
  if (extra > 0) {
    GroupFamily pairs;
    pairs.outer = {Axis{.extent = extra, .actor_stride = 1}};
    pairs.inner = {Axis{.extent = 2, .actor_stride = p}};
    s.families.push_back(pairs);
    s.phases = {phase_of(Pattern::kHalvingReduceScatter, kInput, kOutput, kOutput),
                phase_of(Pattern::kBinomialGather, kOutput, kOutput, kOutput)};
    for (Phase& fold : s.phases) fold.family = 1, fold.span = p / 2;
  }
  s.phases.push_back(phase_of(Pattern::kHalvingReduceScatter, extra > 0 ? kOutput : kInput, kOutput, kOutput));
  s.phases.push_back(phase_of(Pattern::kDoublingAllGather, kOutput, kOutput, kOutput));
  if (extra == 0) return;
  s.phases.push_back(phase_of(Pattern::kChainBroadcast, kOutput, kOutput, kOutput));
  s.phases.back().family = 1;
  s.phases.back().span = p;
}

}  // namespace

Result<Schedule> build_rabenseifner(const ScheduleSpec& spec) {
  Schedule s = blank_schedule(spec, spec.ranks);
  switch (spec.op) {
    case Collective::kAllReduce:
      add_all_reduce(s);
      return s;
    case Collective::kReduce:
      s.phases = {phase_of(Pattern::kHalvingReduceScatter, kInput, kOutput, kOutput),
                  phase_of(Pattern::kBinomialGather, kOutput, kOutput, kOutput)};
      break;
    case Collective::kBroadcast:
      s.phases = {phase_of(Pattern::kBinomialScatter, kInput, kOutput, kOutput),
                  phase_of(Pattern::kDoublingAllGather, kOutput, kOutput, kOutput)};
      break;
    default:
      return not_built(s.algorithm, spec.op);
  }
  s.phases[0].root = s.phases.back().root = spec.root;
  return s;
}

}  // namespace busbar::collectives
