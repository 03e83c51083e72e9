// The first things a reader of a predicted step wants to know: how long, how good, what it costs, where it waits.
#pragma once

#include <string>
#include <utility>

#include "busbar/step/train_run.h"

namespace busbar::questions {

/// All exposed communication.
Duration exposed(const step::Breakdown& b);
double share_percent(Duration part, Duration whole);

/// "TP all_gather of 64 MiB over 8 ranks"
std::string call_name(const step::TrainRun& run, const step::CallUse& use);

/// The lowest and highest time of 9 of 10 published steps like it. They include waiting for the slowest GPU.
std::pair<double, double> likely_step_s(const step::TrainRun& run);

/// "1.50 s per step, 44 % MFU"
std::string step_figures(double step_s, double mfu);
/// "Does not fit; if it did, 1.50 s per step, 44 % MFU. Stage 0 needs 85.8 GB per GPU, which has 85.0 GB."
std::string does_not_fit_words(Duration step, double mfu, const Error& why);
/// That, or "9.63 s per step (likely 8.7 to 11 s), 37 % MFU. GPUs wait for communication 26 % of the time: ..."
std::string step_verdict(const step::TrainRun& run);
/// "93 % of one replica"; above 100 % also why. Pre: scaling_efficiency.
std::string scaling_words(const step::TrainRun& run);
/// "GPUs that wait cost $9,400 of $36,000 a day: ..."; empty without a price.
std::string waiting_words(const step::TrainRun& run);

}  // namespace busbar::questions
