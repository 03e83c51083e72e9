// How measured results are judged, for `busbar expect` and `busbar doctor`.
#pragma once

#include <cstdint>
#include <string>

#include "busbar/accuracy/expect.h"
#include "busbar/base/stop_flag.h"
#include "busbar/predict/predict_options.h"

namespace busbar::accuracy {

/// Without `op` the operation is that of the results, and all_reduce without results. `predict.launch`: empty: that of
/// the results. Error kInvalid, which asks for --cluster or --collective, if neither the caller nor the file names it.
Result<ExpectOptions> expect_options(const spec::Overrides& overrides, const std::string& engine,
                                     const std::string& cluster, const std::string& op, predict::PredictOptions predict,
                                     const MeasuredResults& results, std::uint32_t gpus = 0, StopFlag stop = nullptr);

}  // namespace busbar::accuracy
