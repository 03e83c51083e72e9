// How measured results are judged, for `busbar expect` and `busbar doctor`.
#pragma once

#include <cstdint>
#include <string>

#include "busbar/accuracy/expect.h"
#include "busbar/cli/session.h"
#include "busbar/predict/predict_options.h"

namespace busbar {

/// Without `op` the operation is that of the results, and all_reduce without results. `predict.launch`: empty: that of
/// the results. Error kInvalid, which asks for --cluster or --collective, if neither the caller nor the file names it.
Result<ExpectOptions> expect_options(const CommonOptions& common, const std::string& cluster, const std::string& op,
                                     PredictOptions predict, const MeasuredResults& results, std::uint32_t gpus = 0);

}  // namespace busbar
