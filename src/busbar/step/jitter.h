// A step is as slow as the slowest of many GPUs: the cost of variation between GPUs.
#pragma once

#include <cstdint>

#include "busbar/base/normal.h"
#include "busbar/base/units.h"

namespace busbar::step {

/// Factor on the step time when each of `gpus` GPUs varies by `share` of its mean (standard deviation) and all wait for
/// the slowest.
double expected_slowest(double share, std::uint32_t gpus);

/// What makes steps of one run differ: all wait for the slowest of `gpus`; links delay messages, a Poisson number of
/// times per step; in a share of the steps a GPU is slow, and the step then takes `slow_s` instead of `step_s`.
/// Independent.
struct StepLaw {
  double step_s = 0, share = 0;  ///< without anything random; standard deviation of a GPU's step, of its mean
  std::uint32_t gpus = 1;
  double delays = 0, delay_s = 0;  ///< expected number on the critical path; each
  double slow_chance = 0, slow_s = 0;

  double expected() const;
  /// The expected time of another step of `balanced` without anything random. Slow GPUs lengthen it by the same factor.
  Duration mean_of(Duration balanced) const;
  double below(double seconds) const;  ///< share of the steps that take less
  double quantile(double p) const;     ///< 0 < p < 1; by bisection, within 1e-9
};

}  // namespace busbar::step
