#include "busbar/cost/money.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "busbar/base/quantity.h"

namespace busbar::cost {

std::string dollars(double usd) {
  constexpr std::pair<double, const char*> kUnits[] = {{1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
  for (const auto& [size, unit] : kUnits)
    if (usd >= size) return "$" + format_number(usd / size) + unit;
  return "$" + format_number(usd);
}

std::string dollars(const spec::PriceRange& r) {
  return r.low == r.high ? dollars(r.low) : dollars(r.low) + " to " + dollars(r.high);
}

std::string format_money(double usd) {
  if (usd < 0) return "-" + format_money(-usd);
  const double step = usd >= 100 ? std::pow(10.0, std::floor(std::log10(usd)) - 1) : 0;
  std::string digits = step > 0 ? fmt::format("{:.0f}", std::round(usd / step) * step) : format_number(usd, 2);
  for (std::size_t at = digits.find('.') == std::string::npos ? digits.size() : 0; at > 3; at -= 3)
    digits.insert(at - 3, ",");
  return "$" + digits;
}

std::string rating_text(double w) {
  if (w >= 1e6) return format_number(w / 1e6) + " MW";
  return w >= 1e4 ? format_number(w / 1e3) + " kW" : format_number(w) + " W";
}

std::string rating_text(const BillSums& sums) {
  if (sums.power_w <= 0) return "-";
  return (sums.unpowered.empty() ? "" : "> ") + rating_text(sums.power_w);
}

}  // namespace busbar::cost
