// Rows of nccl-tests and rccl-tests as CSV, with the column names of `busbar validate`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace busbar {

/// `tables`: what the report of such a file has found. A line per size and side (out of place, in place).
std::string perf_csv(const nlohmann::ordered_json& tables);

}  // namespace busbar
