// A training step on an engine: how long, where the time goes, what each collective cost.
#pragma once

#include <vector>

#include "busbar/engine/engine.h"
#include "busbar/program/program.h"
#include "busbar/step/breakdown.h"
#include "busbar/topology/topology.h"
#include "busbar/trace/timeline.h"
#include "busbar/workload/kernels.h"

namespace busbar {

struct StepOptions {
  Contention contention;  ///< KernelTable::contention: compute slows beside communication
  bool timeline = true;   ///< off: no spans (searches over many layouts)
  Shortcuts shortcuts{};  ///< kWholePasses: run passes that meet nobody as one event
  const Topology* topology = nullptr;  ///< names and loads of links in the timeline; null: left out
};

/// One call of the program over the whole step.
struct CallUse {
  CallId call{};  ///< of the program
  OpClass cls{};
  std::uint16_t label = 0;  ///< of its first use
  std::uint64_t count = 0;  ///< starts, all micro-batches
  Duration total;           ///< from start to end, all starts
  Duration alone;           ///< one start on the idle machine
  Duration exposed;         ///< of the critical role's step: its part of the exposed rows
  Bound bound;
  double mean_us() const { return count == 0 ? 0 : total.in_us() / static_cast<double>(count); }
};

struct StepResult {
  Duration step_time;
  RoleId critical_role{};
  Breakdown breakdown;                  ///< sums to step_time exactly
  Duration slowed;                      ///< part of breakdown.compute: what collectives beside it cost
  std::vector<Duration> critical_time;  ///< per role: time on the critical path
  std::vector<CallUse> calls;           ///< by exposed time, then by total, then by call
  Timeline timeline;
};

/// Precondition: a fresh engine (nothing in flight, time 0).
Result<StepResult> simulate_step(const Program& program, Engine& engine, const StepOptions& options);

}  // namespace busbar
