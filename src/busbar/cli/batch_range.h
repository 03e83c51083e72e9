// Where along a curve over batches a figure lies inside a band.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "busbar/base/result.h"

namespace busbar {

/// Batches counted in steps of the smallest one. Nowhere: `first` > `last`.
struct BatchRange {
  std::uint32_t first = 1, last = 0;
  bool reaches_below = false, reaches_above = false;  ///< the curve's own end is inside: nobody looked further
  bool nowhere() const { return first > last; }
};

/// The range around the first stretch of `samples` (ascending) in which `low` <= figure <= `high`, its edges found by
/// bisection between samples; where no sample lies inside but two neighbours lie on different sides, between them.
/// Assumes that the figure rises or falls throughout between neighbours. Errors of `figure` are passed on.
Result<BatchRange> find_batch_range(const std::vector<std::uint32_t>& samples, double low, double high,
                                    const std::function<Result<double>(std::uint32_t)>& figure);

}  // namespace busbar
