#include "busbar/collectives/chain.h"

#include "busbar/collectives/moves.h"

namespace busbar::collectives {
namespace {

/// Whether `second` starts with exactly the chunks that `first` leaves at their owners.
bool continues(const Phase& first, const Phase& second) {
  if (is_stepwise(first.pattern) && is_stepwise(second.pattern))
    return coupling_of(first.pattern) == Coupling::kChain && coupling_of(second.pattern) == Coupling::kChain &&
           first.channel == second.channel && first.family == second.family;
  return first.pattern == Pattern::kRingReduceScatter && second.pattern == Pattern::kRingAllGather &&
         first.channel == second.channel && first.family == second.family && first.chunk_base == second.chunk_base &&
         first.span == second.span;
}

}  // namespace

std::vector<PhaseRun> phase_runs(const Schedule& schedule) {
  std::vector<PhaseRun> runs;
  const auto n = static_cast<std::uint32_t>(schedule.phases.size());
  for (std::uint32_t i = 0; i < n; ++i) {
    const bool joins = !runs.empty() && continues(schedule.phases[i - 1], schedule.phases[i]);
    if (joins)
      runs.back().end = i + 1;
    else
      runs.push_back({i, i + 1});
  }
  return runs;
}

bool pipelines(const Schedule& schedule) {
  bool handed_on = false;
  std::vector<bool> begun(schedule.channels, false);
  for (const PhaseRun run : phase_runs(schedule)) {
    const Phase& p = schedule.phases[run.begin];
    if (coupling_of(p.pattern) == Coupling::kFree) return false;
    const bool ring = p.pattern == Pattern::kRingReduceScatter || p.pattern == Pattern::kRingAllGather;
    handed_on = handed_on || !ring || begun[p.channel];
    begun[p.channel] = true;
  }
  return handed_on;
}

std::uint32_t run_rounds(const Schedule& schedule, PhaseRun run) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = run.begin; i < run.end; ++i) sum += rounds(schedule, schedule.phases[i]);
  return sum;
}

}  // namespace busbar::collectives
