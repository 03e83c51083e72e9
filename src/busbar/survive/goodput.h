// The share of a run that goes into steps that count, when failures end the job and checkpoints take time.
//
// Failures are a Poisson process: independent, at a constant rate, also during checkpoints and restarts. A failure
// loses everything since the last complete checkpoint.
#pragma once

#include <cstdint>

namespace busbar::survive {

inline constexpr double kSecondsInHour = 3600, kHoursInDay = 24, kSecondsInDay = kSecondsInHour * kHoursInDay;

/// All times in seconds.
struct CheckpointTerms {
  double mtti_s = 0;     ///< mean time between interruptions, finite
  double save_s = 0;     ///< the job stands still for each checkpoint
  double restart_s = 0;  ///< from a failure to the next step: detection, restart, loading
  double least_s = 0;    ///< shortest interval: a checkpoint in the background must end before the next begins
};

/// Young 1974: sqrt(2 C M).
double young_interval(const CheckpointTerms& terms);
/// Daly 2006 (FGCS 22, equation 37): higher order, M for C >= 2 M; never below `least_s`.
double daly_interval(const CheckpointTerms& terms);

/// The nearest whole number of steps, at least one, that takes no less than `least_s`.
double whole_steps(double interval_s, double step_s, double least_s);

/// The shares of the time of a run; they sum to 1.
struct Goodput {
  double useful = 1;
  double checkpoint = 0;  ///< saving
  double restart = 0;     ///< detection, restart, loading, including restarts that fail
  double rework = 0;      ///< steps and checkpoints that were lost
  double slower = 0;      ///< pauses and slower steps while a part of the network is out
};
/// Exact for the process above (Daly 2006, equation 20): a second of useful steps takes
/// M e^(R/M) (e^((tau+C)/M) - 1) / tau. Pre: interval_s > 0.
Goodput goodput(const CheckpointTerms& terms, double interval_s);

/// The smallest number of spares that is exceeded in at most 1 - `confidence` of the time. The number of parts in
/// repair follows a Poisson law of mean `mean`.
std::uint64_t spares_for(double mean, double confidence);

/// The chance that at least one of n parts has a flaw that a share of all parts has.
double chance_of_any(double share, std::uint64_t n);

}  // namespace busbar::survive
