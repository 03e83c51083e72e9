// Penalties of transports, for reports.
#pragma once

#include <string>

#include "busbar/base/json.h"
#include "busbar/predict/penalties.h"
#include "busbar/report/document.h"

namespace busbar {

/// {transport, lb, fan_in, mean, p99, source}
Json to_json(const NetworkPenalty& penalty);
/// `what` takes `p99` where all transfers take the penalty's p99.
Paragraph penalty_words(const NetworkPenalty& penalty, const std::string& what, const std::string& p99);

}  // namespace busbar
