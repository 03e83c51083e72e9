// The steps of a trace against the predicted one, part by part.
#pragma once

#include <string>
#include <vector>

#include "busbar/formats/step_trace.h"
#include "busbar/step/traced_overlay.h"
#include "busbar/step/train_run.h"

namespace busbar::step {

/// One part of the step. Parts sum to the step, measured and predicted; rows with `inside` are parts of the one above.
struct TracedPart {
  std::string name;
  double measured_s = 0, predicted_s = 0;
  bool inside = false;
  double more_s() const { return measured_s - predicted_s; }
};
/// Collectives of one purpose and kind, per step and GPU.
struct TracedCalls {
  program::OpClass cls{};
  std::string what;  ///< "all_gather"
  double times = 0, predicted_times = 0;
  double mean_us = 0, fastest_us = 0;  ///< of kernels, which wait for the last rank
  double predicted_us = 0;             ///< mean; 0: the program has no such calls
};
struct TracedStepGap {
  std::string file;
  formats::StepTrace trace;  ///< without its kernels
  formats::TracedParts steps;
  std::vector<TracedPart> parts;
  std::vector<TracedCalls> calls;
  TracedOverlay overlay;  ///< empty where the run has no timeline
  double measured_s() const { return steps.step_us / 1e6; }
};

/// Reads the trace and gives each collective its purpose: that of the step's call with the same ranks, the same number
/// of ranks or the same kind. Error: a trace of another number of ranks.
Result<TracedStepGap> read_traced(const TrainRun& run, const std::string& path);

}  // namespace busbar::step
