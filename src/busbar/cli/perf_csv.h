// Rows of nccl-tests and rccl-tests as CSV, with the column names of `busbar validate`.
#pragma once

#include <string>

#include "busbar/base/json.h"

namespace busbar {

/// `tables`: the tables found in such a file. One line per size and side (out of place, in place).
std::string perf_csv(const Json& tables);

}  // namespace busbar
