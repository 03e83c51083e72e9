// The price of a token, on both bases.
#pragma once

#include <string>

#include "busbar/step/train_run.h"

namespace busbar::views {

/// "A million tokens cost $0.96 rented, at $2.95 per GPU-hour, and $0.38 to $0.47 bought: ..."; a basis whose prices
/// are not known is left out. Empty: neither is known, or a part of the machine is idle.
std::string token_prices(const step::TrainRun& run);

}  // namespace busbar::views
