#include "busbar/collectives/chain.h"

#include "busbar/collectives/moves.h"

namespace busbar {
namespace {

/// `second` hands on exactly what `first` has left at its owners.
bool continues(const Phase& first, const Phase& second) {
  return first.pattern == Pattern::kRingReduceScatter && second.pattern == Pattern::kRingAllGather &&
         first.channel == second.channel && first.family == second.family && first.chunk_base == second.chunk_base &&
         first.span == second.span;
}

}  // namespace

std::vector<PhaseRun> phase_runs(const Schedule& schedule) {
  std::vector<PhaseRun> runs;
  const auto n = static_cast<std::uint32_t>(schedule.phases.size());
  for (std::uint32_t i = 0; i < n;) {
    const bool pair = i + 1 < n && continues(schedule.phases[i], schedule.phases[i + 1]);
    runs.push_back({i, i + (pair ? 2 : 1)});
    i = runs.back().end;
  }
  return runs;
}

std::uint32_t run_rounds(const Schedule& schedule, PhaseRun run) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = run.begin; i < run.end; ++i) sum += rounds(schedule, schedule.phases[i]);
  return sum;
}

}  // namespace busbar
