// Fits the two constants that each training step depends on: of its generation of GPUs and of its framework.
#pragma once

#include <cstddef>
#include <vector>

namespace busbar::accuracy {

/// A configuration whose predicted time is known as a function of its two constants.
struct FitRow {
  double ratio = 0;                           ///< predicted / measured with `held` and `time`
  double clock_share = 0;                     ///< of the predicted time: what grows with 1 / held_share
  double software_share = 0;                  ///< of the predicted time: what grows with kernel_time
  double held = 1, time = 1;                  ///< held_share and kernel_time of `ratio`
  std::size_t generation = 0, framework = 0;  ///< indices of its constants

  /// predicted / measured - 1 with other constants.
  double error(const std::vector<double>& constants) const;
};

/// Changes one of the constants `free` at a time, by up to 10 and at least 0.3 %, as long as the mean of |error| falls.
/// A row counts at most 40 %. Constants that no row uses stay as in `start`. Cost: some 1,000 x rows for ten constants.
std::vector<double> fit_constants(const std::vector<const FitRow*>& rows, std::vector<double> start,
                                  const std::vector<std::size_t>& free);

}  // namespace busbar::accuracy
