// What waiting costs: from the purposes of communication to the links that bound it.
#pragma once

#include "busbar/report/document.h"
#include "busbar/step/train_run.h"

namespace busbar::views {

/// Left the purposes (TP, DP, ...) with what GPUs wait for them, in the middle the links that bound their calls, right
/// the whole; the width of a band is money a day or, without a price, time of the step. Without waiting: an empty
/// drawing.
report::Drawing draw_money_flow(const step::TrainRun& run);

}  // namespace busbar::views
