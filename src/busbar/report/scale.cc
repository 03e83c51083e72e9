#include "busbar/report/internal/scale.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace busbar::report {
namespace {

/// Decimals that show `value` with `digits` significant digits.
int decimals_for(double value, int digits) {
  if (!(value > 0) || !std::isfinite(value)) return 0;
  const int magnitude = static_cast<int>(std::floor(std::log10(value) + 1e-9));
  return std::clamp(digits - 1 - magnitude, 0, 12);
}

}  // namespace

UnitScale::UnitScale(double largest, std::string unit, int digits) : unit_(std::move(unit)) {
  if (unit_ == "s" && largest > 0) {
    constexpr std::array<std::pair<const char*, double>, 5> kSteps{
        {{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}, {"ps", 1e12}}};
    for (const auto& [name, factor] : kSteps) {
      unit_ = name;
      factor_ = factor;
      if (largest * factor >= 0.9995) break;
    }
  }
  decimals_ = decimals_for(largest * factor_, digits);
}

std::string UnitScale::number(double value) const {
  const double shown = value * factor_;
  const double least = std::pow(10.0, -decimals_);
  if (shown > 0 && shown < least / 2) return fmt::format("<{:.{}f}", least, decimals_);
  return shown == 0 ? "0" : fmt::format("{:.{}f}", shown, decimals_);
}

std::string UnitScale::text(double value) const { return unit_.empty() ? number(value) : number(value) + " " + unit_; }

std::vector<Tick> nice_ticks(double low, double high, int wanted, double factor) {
  std::vector<Tick> out;
  low *= factor;
  high *= factor;
  if (!std::isfinite(low) || !std::isfinite(high) || !(high > low) || wanted < 1) return out;
  const double raw = (high - low) / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double lead = raw / power;
  const double step = (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10) * power;
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 12);
  const double slack = step * 1e-6;  // includes a tick at the very end of the axis
  const double first = std::ceil((low - slack) / step);
  for (int i = 0; (first + i) * step <= high + slack; ++i) {
    const double value = (first + i) * step;
    const bool zero = std::fabs(value) < step / 2;
    out.push_back({zero ? 0 : value / factor, zero ? "0" : fmt::format("{:.{}f}", value, decimals)});
  }
  return out;
}

double nice_ceiling(double value) {
  if (!(value > 0) || !std::isfinite(value)) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double lead : {1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0}) {
    if (lead * power >= value * (1 - 1e-9)) return lead * power;
  }
  return 10 * power;
}

std::string coordinate(double value) {
  if (!std::isfinite(value)) return "0";
  std::string out = fmt::format("{:.2f}", value);
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  return out == "-0" ? "0" : out;
}

double drawable(double value) { return std::isfinite(value) && value > 0 ? value : 0; }

}  // namespace busbar::report
