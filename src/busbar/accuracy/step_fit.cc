#include "busbar/accuracy/step_fit.h"

#include <cmath>

namespace busbar::accuracy {
namespace {

// Standard deviations of ln(measured / predicted) in data/measured/training.csv, sources left out of the fits: of the
// mean over the layouts of a job on a machine, and of one layout around this mean.
constexpr double kOfMachines = 0.09, kOfLayouts = 0.065;
constexpr double kNineTenths = 1.645;

}  // namespace

KernelFit fit_kernels(const std::vector<StepSeen>& steps) {
  double weight = 1 / (kOfMachines * kOfMachines), sum = 0;
  for (const StepSeen& s : steps) {
    const double per_variance = s.kernel_share / (kOfLayouts * kOfLayouts);
    sum += per_variance * std::log(s.measured_s / s.predicted_s);
    weight += per_variance * s.kernel_share;
  }
  const double ln = sum / weight, width = kNineTenths / std::sqrt(weight);
  return {std::exp(ln), std::exp(ln - width), std::exp(ln + width)};
}

double step_with_kernels(const StepSeen& step, double time) {
  return step.predicted_s * std::pow(time, step.kernel_share);
}

}  // namespace busbar::accuracy
