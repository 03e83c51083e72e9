// Rows that a fit may use.
#pragma once

#include <vector>

#include "busbar/accuracy/validate.h"

namespace busbar::accuracy {

/// The rows of validate() that count and are predicted, in its order.
Result<std::vector<ScoredRow>> counted_rows(const CsvTable& table, const ValidateOptions& options);

}  // namespace busbar::accuracy
