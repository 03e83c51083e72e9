// Where the time of a step goes: rows that sum to it to the picosecond.
#pragma once

#include <vector>

#include "busbar/step/causes.h"
#include "busbar/step/run_program.h"

namespace busbar {

/// Of the critical role: what its compute stream does, and what each of its idle gaps waits for.
struct Breakdown {
  Duration compute, exposed_tp, exposed_dp, exposed_pp, exposed_cp, exposed_ep, bubble, optimizer, other;
  Duration total() const {
    return compute + exposed_tp + exposed_dp + exposed_pp + exposed_cp + exposed_ep + bubble + optimizer + other;
  }
};

struct Attribution {
  RoleId critical_role{};
  Breakdown breakdown;
  Duration slowed;                      ///< part of compute: what collectives beside it cost
  std::vector<Duration> exposed;        ///< per call of the program: its part of the exposed rows
  std::vector<Duration> critical_time;  ///< per role: time on the critical path
};

/// The critical path leads from the operation that ends last over causes back to time 0; the critical role is the one
/// that spends most time on it (ties: lowest). A gap of its compute stream is walked back over the chain of causes:
/// own tp, dp, ... are exposed as such; transfers and gradient reductions of any role likewise; other work of another
/// role is bubble; time that nothing explains is other. Result: total() == run.length exactly.
Attribution attribute(const Program& program, const OpIndex& ids, const ProgramRun& run, const Causes& causes);

}  // namespace busbar
