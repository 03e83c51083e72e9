// How much of its best rate of matrix products a GPU keeps for hours under its power limit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/spec/catalog.h"

namespace busbar {

/// One generation of GPUs: catalog/clocks/NAME.yaml. The power above `base_watts` grows with clock x voltage^2, and the
/// voltage nearly with the clock, so clock = ((limit - base) / (full - base))^exponent, at most 1.
/// Source: docs/models/step.md, "Clocks".
struct ClockCurve {
  double base_watts = 0;    ///< idle units, memory, leakage
  double full_watts = 0;    ///< that 16-bit products need at the clock of the best rate (free constant)
  double exponent = 0;      ///< 1/3 to 1/2
  double narrow_power = 1;  ///< power above the base of fp8 and fp4 products, against 16-bit ones
  std::string text{};       ///< as read, for inputs_hash

  /// `watts`: the power limit. Result: in (0, 1].
  double share(double watts, bool narrow) const;
  /// Adds a line per figure to `sources`.
  static Result<ClockCurve> load(std::string_view name, const Catalog& catalog, std::vector<std::string>& sources);
};

}  // namespace busbar
