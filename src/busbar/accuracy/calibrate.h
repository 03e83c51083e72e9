// A machine fitted to a user's results: `busbar calibrate`.
#pragma once

#include <string>

#include "busbar/accuracy/expect.h"

namespace busbar {

enum class CalibrationVerdict : std::uint8_t {
  kFits,
  kBroken,      ///< far slower than machines of its kind: find the fault instead
  kDoesNotFit,  ///< faster than physics or than such a machine can be, or of another shape
};
const char* name_of(CalibrationVerdict verdict);  ///< "fits", "broken machine", "does not fit"

struct Calibration {
  double before_percent = 0, after_percent = 0;  ///< median |error| of the predictions
  double share = 1;                              ///< rates that the results show, of those expected
  double latency = 1;                            ///< latencies likewise
  double launch_us = 0;                          ///< before the first byte, as fitted
  CalibrationVerdict verdict = CalibrationVerdict::kFits;
  std::string why;
  std::string overlay;  ///< where it fits: the whole cluster file with the flags in it and the fitted factors
  std::string inputs;
};

/// Fits three figures over all sizes at once: a factor of all latencies, one of all rates, and what a launch takes
/// more. Where the results cannot tell latencies from rates, they get the same factor, and launches none. Errors of
/// single sizes count by their size, not its square, so that an odd one moves little.
/// Broken: below 60 % of the rates; or latencies above 1.6 times and 100 us more for the smallest size. Does not fit:
/// a size below the machine's floor, rates above 130 %, or a median error above 15 % that stays.
/// Error kInvalid where the results are of another number of ranks.
Result<Calibration> calibrate(const MeasuredResults& results, const ExpectOptions& options);

}  // namespace busbar
