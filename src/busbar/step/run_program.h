// Runs a Program on an engine: an event loop over streams.
#pragma once

#include <vector>

#include "busbar/base/result.h"
#include "busbar/engine/engine.h"
#include "busbar/program/passes.h"
#include "busbar/program/program.h"
#include "busbar/step/pass_shape.h"
#include "busbar/workload/kernels.h"

namespace busbar::step {

/// One use of a pass.
struct UseRun {
  static constexpr std::uint32_t kWhole = 0xffff'ffffu;
  SimTime begin;                 ///< if whole
  std::uint32_t split = kWhole;  ///< its index in ProgramRun::splits
};

struct ProgramRun {
  std::vector<OpRun> ops;                  ///< per entry of Program::ops
  std::vector<UseRun> uses;                ///< per use
  std::vector<std::vector<OpRun>> splits;  ///< for uses that ran operation by operation
  std::vector<PassShape> shapes;           ///< per pass
  std::vector<program::CallId> calls;      ///< per call of the program: the engine's id
  Duration length;

  /// When an operation ran.
  OpRun at(const program::Program& program, program::OpIndex::Place p) const;
};

/// Delays of a role slow down by the shares of `contention` while its collectives run; their ends are recomputed when
/// one starts or ends. Shortcut::kWholePasses off: every operation is an event.
/// Errors: those of the engine's prepare(); kInvalid if operations wait for each other in a circle.
/// Cost: O(log streams) per operation, plus the engine's; for a pass without other traffic, per pass.
Result<ProgramRun> run_program(const program::Program& program, engine::Engine& engine,
                               const workload::Contention& contention, const Shortcuts& shortcuts = {});

}  // namespace busbar::step
