#include "busbar/cli/cost_flags.h"

#include <fmt/core.h>

namespace busbar {

Status CostOptions::check() const {
  constexpr double kMostYears = 100, kMostPue = 10, kMostUsdPerKwh = 1000;
  if (terms.years <= 0) return flag_error("--years", "a machine that lasts no time has no price per hour");
  if (terms.years > kMostYears) return flag_error("--years", fmt::format("is at most {}", kMostYears));
  if (terms.pue < 1) return flag_error("--pue", "a building draws no less than its machine; write 1 or more");
  if (terms.pue > kMostPue) return flag_error("--pue", fmt::format("is at most {}", kMostPue));
  if (terms.usd_per_kwh > kMostUsdPerKwh)
    return flag_error("--power-price", fmt::format("is at most {}", kMostUsdPerKwh));
  return {};
}

std::vector<Flag> cost_flags(CostOptions& o) {
  return {
      {"--prices", "FILE", "YAML file with your own prices and powers; they replace those of the catalogue", "Cost",
       &o.prices},
      {"--power-price", "USD", "price of a kWh in $ (default 0.08)", "Cost", &o.terms.usd_per_kwh},
      {"--pue", "FACTOR", "power of the building over that of the machine (default 1.2)", "Cost", &o.terms.pue},
      {"--years", "N", "years over which the purchase is spread (default 4)", "Cost", &o.terms.years},
  };
}

}  // namespace busbar
