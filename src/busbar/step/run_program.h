// Runs a Program on an engine: an event loop over streams.
//
// Invariants:
//  1. A stream runs its operations in program order, one at a time.
//  2. An operation starts at the very moment its last dependency or its predecessor ends: that one is its cause, so the
//     chain of causes from any operation back to time 0 has no holes.
//  3. Events are ordered by (time, ends of collectives first, sequence number).
#pragma once

#include <vector>

#include "busbar/base/result.h"
#include "busbar/engine/engine.h"
#include "busbar/program/program.h"
#include "busbar/workload/kernels.h"

namespace busbar {

struct OpRun {
  SimTime start, end;
  OpId cause = static_cast<OpId>(0xffff'ffffu);  ///< none: it could start at time 0
};

struct ProgramRun {
  std::vector<OpRun> ops;     ///< per operation of the program
  std::vector<CallId> calls;  ///< per call of the program: the engine's id
  OpId last{};                ///< the operation that ends last
  Duration length;
};

/// Delays of a role slow down by the shares of `contention` while its collectives run, and are re-timed when one starts
/// or ends. Errors: what the engine refuses to prepare; kInvalid when operations wait for each other in a circle.
/// Cost: O(log streams) per operation beside the engine.
Result<ProgramRun> run_program(const Program& program, Engine& engine, const Contention& contention);

}  // namespace busbar
