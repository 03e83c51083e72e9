#include "busbar/cli/cost_flags.h"

namespace busbar {

Status CostOptions::check() const {
  if (terms.years <= 0) return flag_error("--years", "a machine that lasts no time has no price per hour");
  if (terms.pue < 1) return flag_error("--pue", "a building draws no less than its machine; write 1 or more");
  return {};
}

std::vector<Flag> cost_flags(CostOptions& o) {
  return {
      {"--prices", "FILE", "YAML with prices and powers of one's own, before those of the catalogue", "Cost",
       &o.prices},
      {"--power-price", "USD", "price of a kWh in $ (default 0.08)", "Cost", &o.terms.usd_per_kwh},
      {"--pue", "FACTOR", "power of the building over that of the machine (default 1.2)", "Cost", &o.terms.pue},
      {"--years", "N", "years over which the purchase is spread (default 4)", "Cost", &o.terms.years},
  };
}

}  // namespace busbar
