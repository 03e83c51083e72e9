// A measured step laid over the predicted one: what each does at every time, and where they drift apart.
#pragma once

#include <string>
#include <vector>

#include "busbar/formats/step_trace.h"
#include "busbar/step/train_run.h"

namespace busbar::step {

/// A stretch of the step that is one part of it. The stretches of a step follow each other without gaps.
struct OverlaySpan {
  double start_s = 0, duration_s = 0;  ///< from the start of the step
  std::string part;                    ///< key of Breakdown: "compute", "exposed_tp", "bubble", "optimizer", "other"
};

/// An equal share of the computation, in both steps.
struct OverlaySlice {
  double measured_from_s = 0, measured_s = 0;
  double predicted_from_s = 0, predicted_s = 0;
  std::string part;        ///< that differs most
  double part_more_s = 0;  ///< measured - predicted
  double more_s() const { return measured_s - predicted_s; }
};

struct TracedOverlay {
  std::string step, role;  ///< "ProfilerStep#7"; "stage 0"
  std::vector<OverlaySpan> measured, predicted;
  std::vector<OverlaySlice> slices;  ///< in order of time; they sum to both steps
  double measured_s = 0, predicted_s = 0;
};
constexpr std::size_t kOverlaySlices = 40;

/// The step of the trace whose length is the median, and the row of computation of the role that has the rank of the
/// trace. `purposes`: one per collective. While several kernels run, the first of these counts: computation, optimizer,
/// collectives in order of OpClass, others. Empty where the run has no timeline or a step no computation.
TracedOverlay overlay_of(const TrainRun& run, const formats::StepTrace& trace,
                         const std::vector<program::OpClass>& purposes);

/// The same of two lists of stretches: cuts both into slices with as much of their computation.
std::vector<OverlaySlice> slices_of(const std::vector<OverlaySpan>& measured, const std::vector<OverlaySpan>& predicted,
                                    std::size_t count);

}  // namespace busbar::step
