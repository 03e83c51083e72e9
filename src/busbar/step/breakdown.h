// The parts of a step's time; they sum to it to the picosecond.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "busbar/step/causes.h"
#include "busbar/step/run_program.h"

namespace busbar::step {

/// For the critical role: what its compute stream does, and what each of its idle gaps waits for.
struct Breakdown {
  Duration compute, exposed_tp, exposed_dp, exposed_pp, exposed_cp, exposed_ep, bubble, optimizer, other;
  Duration slowest_gpu;  ///< waiting for the slowest of GPUs that vary, and for random delays; 0 where all are equal
  Duration total() const {
    return compute + exposed_tp + exposed_dp + exposed_pp + exposed_cp + exposed_ep + bubble + optimizer + other +
           slowest_gpu;
  }
};

/// A part with its name in JSON: "exposed_tp".
struct BreakdownPart {
  const char* name;
  Duration Breakdown::*time;
};
/// In the order of the contract.
std::span<const BreakdownPart> breakdown_parts();
/// The part of a wait of one role for work of class `cls`, its own or that of another role. Its own collectives are
/// exposed, as are transfers between stages; whatever else another role does, its exchange of gradients too, is bubble.
const BreakdownPart& part_of_wait(program::OpClass cls, bool own);
/// The part of what a role itself does: its compute stream works, or waits for its other streams.
const BreakdownPart& part_of_work(const program::Op& op);

/// Name and time of each part, in the order of the contract.
std::vector<std::pair<std::string, Duration>> breakdown_rows(const Breakdown& b);

struct Attribution {
  program::RoleId critical_role{};
  Breakdown breakdown;
  Duration slowed;                      ///< the part of compute caused by collectives that run at the same time
  std::vector<Duration> exposed;        ///< per call of the program: its share of the exposed parts
  std::vector<Duration> critical_time;  ///< per role: time on the critical path
};

/// The critical path leads from the operation that ends last through causes back to time 0. The critical role spends
/// the most time on it (ties: lowest). For a gap of its compute stream, the chain of causes is followed back, and its
/// work belongs to the parts that part_of_wait() says. Result: total() == run.length exactly.
Attribution attribute(const program::Program& program, const program::OpIndex& ids, const ProgramRun& run,
                      const Causes& causes);

}  // namespace busbar::step
