// The standard normal distribution: quantiles, and the largest of many.
#pragma once

#include <cstdint>

namespace busbar {

/// Quantile of the standard normal distribution. Precondition: 0 < p < 1.
/// Source: Acklam's rational approximation, relative error below 1.15e-9.
double normal_quantile(double p);

/// Expected maximum of `n` independent standard normal variables; 0 for one.
/// Source: Blom 1958, order statistics: quantile of (n - 3/8) / (n + 1/4). Within 2 % of the exact value.
double expected_maximum(std::uint32_t n);

}  // namespace busbar
