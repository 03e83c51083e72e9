// A step is as slow as the slowest of many GPUs: the cost of variation between GPUs.
#pragma once

#include <cstdint>

#include "busbar/base/normal.h"

namespace busbar {

/// Factor on the step time when each of `gpus` GPUs varies by `share` of its mean (standard deviation) and all wait for
/// the slowest.
double expected_slowest(double share, std::uint32_t gpus);

/// The factor below which a share `p` of steps stays: the maximum of `gpus` normal variables is below x with
/// probability Phi(x)^gpus.
double slowest_quantile(double share, std::uint32_t gpus, double p);

}  // namespace busbar
