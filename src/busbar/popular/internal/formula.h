// Arithmetic written as text, such as "2 * (n - 1) / n * bytes / rate".
#pragma once

#include <map>
#include <string>

#include "busbar/base/result.h"

namespace busbar::popular {

/// The value of `formula`, whose names are those of `values`. Comparisons and && give 1 or 0; min, max, abs and log2
/// are known. Errors kInvalid: not a formula, an unknown name, or a result that is not finite.
Result<double> evaluate_formula(const std::string& formula, const std::map<std::string, double>& values);

}  // namespace busbar::popular
