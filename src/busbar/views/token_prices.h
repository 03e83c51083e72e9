// Prices on both bases, rented and bought.
#pragma once

#include <string>

#include "busbar/questions/gpu_hour.h"
#include "busbar/step/train_run.h"

namespace busbar::views {

/// "Bought, a GPU-hour costs $1.12 to $1.44: ... 0.38 to 0.49 times the rent of $2.95."; why it is not known where a
/// part has no price.
std::string bought_words(const questions::GpuHour& hour);

/// "A million tokens cost $0.96 rented, at $2.95 per GPU-hour, and $0.38 to $0.47 bought: ..."; a basis whose prices
/// are not known is left out. Empty: neither is known.
std::string token_prices(const step::TrainRun& run, const questions::GpuHour& hour);

}  // namespace busbar::views
