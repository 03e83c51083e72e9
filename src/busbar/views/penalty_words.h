// Penalties of transports, for reports.
#pragma once

#include <string>

#include "busbar/base/json.h"
#include "busbar/predict/penalties.h"
#include "busbar/report/document.h"

namespace busbar::views {

/// {transport, lb, fan_in, mean, p99, source}
Json to_json(const predict::NetworkPenalty& penalty);
/// `what` takes `p99` where all transfers take the penalty's p99.
report::Paragraph penalty_words(const predict::NetworkPenalty& penalty, const std::string& what,
                                const std::string& p99);

}  // namespace busbar::views
