#include "busbar/cost/cost_options.h"

#include <fmt/core.h>

#include <utility>

namespace busbar::cost {
namespace {

Error in_field(const char* field, std::string message) { return invalid(std::move(message), {"", 0, 0, field}); }

}  // namespace

Status CostOptions::check() const {
  constexpr double kMostYears = 100, kMostPue = 10, kMostUsdPerKwh = 1000;
  if (terms.years <= 0) return in_field("years", "a machine that lasts no time has no price per hour");
  if (terms.years > kMostYears) return in_field("years", fmt::format("is at most {}", kMostYears));
  if (terms.pue < 1) return in_field("pue", "a building draws no less than its machine; write 1 or more");
  if (terms.pue > kMostPue) return in_field("pue", fmt::format("is at most {}", kMostPue));
  if (terms.usd_per_kwh > kMostUsdPerKwh) return in_field("power_price", fmt::format("is at most {}", kMostUsdPerKwh));
  return {};
}

}  // namespace busbar::cost
