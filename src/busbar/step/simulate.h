// A training step on an engine: its duration, the parts of its time, and the cost of each collective.
#pragma once

#include <vector>

#include "busbar/engine/engine.h"
#include "busbar/program/program.h"
#include "busbar/step/breakdown.h"
#include "busbar/step/jitter.h"
#include "busbar/topology/topology.h"
#include "busbar/trace/timeline.h"
#include "busbar/workload/kernels.h"

namespace busbar::step {

struct StepOptions {
  workload::Contention contention;  ///< KernelTable::contention: how communication slows compute at the same time
  bool timeline = true;             ///< off: no spans (searches over many layouts)
  Shortcuts shortcuts{};            ///< kWholePasses: run undisturbed passes as one event
  const topology::Topology* topology = nullptr;  ///< for names and loads of links in the timeline; null: without them
};

/// One call of the program over the whole step.
struct CallUse {
  program::CallId call{};  ///< of the program
  program::OpClass cls{};
  std::uint16_t label = 0;  ///< of its first use
  std::uint64_t count = 0;  ///< number of starts over all micro-batches
  Duration total;           ///< sum over all starts, from start to end
  Duration alone;           ///< one start on the idle machine
  Duration exposed;         ///< for the critical role: its share of the exposed parts
  lowering::Bound bound;
  double mean_us() const { return count == 0 ? 0 : total.in_us() / static_cast<double>(count); }
};

struct StepResult {
  Duration step_time;  ///< the mean that a stopwatch shows; of simulate_step(): with GPUs that are all equal
  Duration balanced;   ///< with GPUs that are all equal; the length of `timeline`
  program::RoleId critical_role{};
  Breakdown breakdown;                  ///< sums to step_time exactly
  Duration slowed;                      ///< part of breakdown.compute: the cost of collectives at the same time
  std::vector<Duration> critical_time;  ///< per role: time on the critical path
  std::vector<CallUse> calls;           ///< by exposed time, then by total, then by call
  trace::Timeline timeline;
};

/// Precondition: a fresh engine (nothing in flight, time 0).
Result<StepResult> simulate_step(const program::Program& program, engine::Engine& engine, const StepOptions& options);

/// `step` as a stopwatch shows it in the mean; what `law` adds is a part of its breakdown.
StepResult as_measured(StepResult step, const StepLaw& law);

}  // namespace busbar::step
