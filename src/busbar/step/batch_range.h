// Which range of batches of a curve has a figure inside a band.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "busbar/base/result.h"

namespace busbar::step {

/// Batches, counted in steps of the smallest one. None: `first` > `last`.
struct BatchRange {
  std::uint32_t first = 1, last = 0;
  bool reaches_below = false, reaches_above = false;  ///< the curve's end is inside, so the range may continue
  bool nowhere() const { return first > last; }
};

/// The first range of batches with `low` <= figure <= `high`. Starts from `samples` (ascending) inside the band and
/// finds the edges by bisection between samples. If no sample is inside but two neighbours are on different sides,
/// searches between them. Assumes that the figure is monotonic between neighbours. Errors of `figure` are passed on.
Result<BatchRange> find_batch_range(const std::vector<std::uint32_t>& samples, double low, double high,
                                    const std::function<Result<double>(std::uint32_t)>& figure);

}  // namespace busbar::step
