#include "busbar/cli/money.h"

#include <utility>

#include "busbar/base/quantity.h"

namespace busbar {

std::string dollars(double usd) {
  constexpr std::pair<double, const char*> kUnits[] = {{1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
  for (const auto& [size, unit] : kUnits)
    if (usd >= size) return "$" + format_number(usd / size) + unit;
  return "$" + format_number(usd);
}

std::string dollars(const PriceRange& r) {
  return r.low == r.high ? dollars(r.low) : dollars(r.low) + " to " + dollars(r.high);
}

std::string rating_text(double w) {
  if (w >= 1e6) return format_number(w / 1e6) + " MW";
  return w >= 1e4 ? format_number(w / 1e3) + " kW" : format_number(w) + " W";
}

}  // namespace busbar
