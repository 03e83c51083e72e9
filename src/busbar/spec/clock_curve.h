// How much of its best rate of matrix products a GPU keeps for hours under its power limit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/spec/catalog.h"

namespace busbar::spec {

/// One generation of GPUs: catalog/clocks/NAME.yaml. The power above `base_watts` grows with clock x voltage^2, and the
/// voltage nearly with the clock, so the clock under a limit grows with (limit - base)^exponent.
/// Source: docs/models/step.md, "Clocks".
struct ClockCurve {
  double base_watts = 0;    ///< idle units, memory, leakage
  double exponent = 0;      ///< 1/3 to 1/2
  double held_share = 1;    ///< of a burst's rate in 16 bits under the same limit, for hours (free constant)
  double narrow_share = 1;  ///< the same of fp8 and fp4 products, against that in 16 bits
  std::string text{};       ///< as read, for inputs_hash

  /// What stays of a rate found under the limit `found_watts` under the limit `watts`. Result: in (0, 1].
  double share(double watts, double found_watts, bool narrow) const;
  /// Adds a line per figure to `sources`.
  static Result<ClockCurve> load(std::string_view name, const Catalog& catalog, std::vector<std::string>& sources);
};

}  // namespace busbar::spec
