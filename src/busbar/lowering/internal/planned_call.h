// A call and its schedule, cut into runs of phases.
#pragma once

#include <algorithm>
#include <vector>

#include "busbar/collectives/chain.h"
#include "busbar/lowering/internal/lanes.h"
#include "busbar/lowering/internal/routed_run.h"
#include "busbar/program/program.h"

namespace busbar::lowering {

/// A run of phases, by one group of their family in one group of ranks of the call.
struct GroupRun {
  collectives::PhaseRun phases;
  std::uint32_t call_group, group;
};

/// Does not change while the call is lowered. Both references outlive it.
struct PlannedCall {
  const program::CollectiveCall& call;
  const collectives::Schedule& schedule;
  Lanes lanes{};
  SentBytes sent{};                                        ///< by the protocol of the call
  std::uint32_t chunks = 1;                                ///< that are pipelined through the phases
  bool follows_rings = true;                               ///< piece by piece, where they share links
  std::vector<std::vector<collectives::PhaseRun>> runs{};  ///< per channel of the schedule; run s is part of step s

  /// The bytes of one chunk of the schedule, in one chunk of the pipeline.
  double chunk_bytes() const { return static_cast<double>(count(call.bytes)) / schedule.chunks_per_buffer() / chunks; }
  std::size_t steps() const {
    std::size_t n = 0;
    for (const auto& channel : runs) n = std::max(n, channel.size());
    return n;
  }
  const collectives::Phase& first_phase(collectives::PhaseRun run) const { return schedule.phases[run.begin]; }
  const collectives::GroupFamily& family(collectives::PhaseRun run) const {
    return schedule.families[first_phase(run).family];
  }
  /// Calls f(group_run) for each group of ranks of the call and each group of the run's family.
  template <typename F>
  void for_each_group(collectives::PhaseRun run, F f) const {
    const std::uint32_t groups = family(run).groups();
    for (std::uint32_t cg = 0; cg < call.groups.groups(); ++cg)
      for (std::uint32_t g = 0; g < groups; ++g) f(GroupRun{run, cg, g});
  }
};

}  // namespace busbar::lowering
