// A machine fitted to a user's results: `busbar calibrate`.
#pragma once

#include <string>

#include "busbar/accuracy/expect.h"

namespace busbar {

enum class CalibrationVerdict : std::uint8_t {
  kFits,
  kBroken,      ///< much slower than machines of its kind: look for the fault
  kDoesNotFit,  ///< faster than physics or such a machine allows, or with another shape of the curve
};
const char* name_of(CalibrationVerdict verdict);  ///< "fits", "broken machine", "does not fit"

struct Calibration {
  double before_percent = 0, after_percent = 0;  ///< median |error| of the predictions
  double share = 1;                              ///< measured rates, relative to the expected rates
  double latency = 1;                            ///< measured latencies, relative to the expected ones
  double launch_us = 0;                          ///< fitted time before the first byte
  CalibrationVerdict verdict = CalibrationVerdict::kFits;
  std::string why;
  std::string overlay;  ///< if it fits: the complete cluster file, with the flags and the fitted factors
  std::string inputs;
};

/// Fits three values to all sizes at once: a factor on all latencies, one on all rates, and extra time per launch. If
/// the results cannot separate latencies from rates, both get the same factor and launches get none. Absolute errors
/// are minimised, not their squares, so that outliers have little influence. Results that fit and that expect_results()
/// calls low say so in `why`.
/// Broken: below 60 % of the rates; or latencies above 1.6 times and 100 us more for the smallest size. Does not fit: a
/// size below the machine's floor, rates above 130 %, or a remaining median error above 15 %.
/// Error kInvalid if the results have another number of ranks.
Result<Calibration> calibrate(const MeasuredResults& results, const ExpectOptions& options);

}  // namespace busbar
