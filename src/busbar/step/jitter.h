// A step is as slow as the slowest of many GPUs: the cost of variation between GPUs.
#pragma once

#include <cstdint>

namespace busbar {

/// Quantile of the standard normal distribution. Precondition: 0 < p < 1.
/// Source: Acklam's rational approximation, relative error below 1.15e-9.
double normal_quantile(double p);

/// Expected maximum of `n` independent standard normal variables; 0 for one.
/// Source: Blom 1958, order statistics: quantile of (n - 3/8) / (n + 1/4). Within 2 % of the exact value.
double expected_maximum(std::uint32_t n);

/// Factor on the step time when each of `gpus` GPUs varies by `share` of its mean (standard deviation) and all wait for
/// the slowest.
double expected_slowest(double share, std::uint32_t gpus);

/// The factor below which a share `p` of steps stays: the maximum of `gpus` normal variables is below x with
/// probability Phi(x)^gpus.
double slowest_quantile(double share, std::uint32_t gpus, double p);

}  // namespace busbar
