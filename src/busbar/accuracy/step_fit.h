// What measured steps of training runs say about the kernels of a machine.
//
//   const KernelFit fit = fit_kernels({{.measured_s = 1.2, .predicted_s = 1.1, .kernel_share = 0.9}});
//   // fit.time: kernels take 1.07 times as long as in the catalogue
#pragma once

#include <vector>

namespace busbar::accuracy {

struct StepSeen {
  double measured_s = 0, predicted_s = 0;
  double kernel_share = 1;  ///< of the predicted step: what becomes longer as kernels do, bubbles included
};

/// A factor on the time of all kernels; nine tenths of what the steps allow are from `low` to `high`.
struct KernelFit {
  double time = 1, low = 1, high = 1;
};

/// The likeliest factor: ln(measured / predicted) of a step is its share of kernels times ln(factor), plus an error of
/// the layout, with the catalogue (factor 1) as prior. Precondition: times and shares above 0. Source: both widths are
/// those of data/measured/training.csv: see step_fit.cc.
KernelFit fit_kernels(const std::vector<StepSeen>& steps);

/// The step of a machine whose kernels take `time` times as long.
double step_with_kernels(const StepSeen& step, double time);

}  // namespace busbar::accuracy
