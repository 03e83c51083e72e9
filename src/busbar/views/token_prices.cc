#include "busbar/views/token_prices.h"

#include <fmt/core.h>

namespace busbar::views {

std::string bought_words(const questions::GpuHour& hour) {
  if (!hour.bought_low_usd || !hour.bought_high_usd)
    return "What it costs to buy is not known: the catalogue has no price of this machine.";
  std::string out = fmt::format(
      "Bought, a GPU-hour costs {}${:.2f} to ${:.2f}: purchase over {:g} years and electricity, without storage and "
      "the "
      "networks of storage and management",
      hour.bought_complete ? "" : "at least ", *hour.bought_low_usd, *hour.bought_high_usd, hour.years);
  if (!hour.bought_complete) out += " and parts without a price (busbar cost)";
  if (hour.rented_usd)
    out += fmt::format("; {:.2f} to {:.2f} times the rent of ${:.2f}", *hour.bought_low_usd / *hour.rented_usd,
                       *hour.bought_high_usd / *hour.rented_usd, *hour.rented_usd);
  return out + ".";
}

std::string token_prices(const step::TrainRun& run, const questions::GpuHour& hour) {
  constexpr double kMillion = 1e6, kSecondsInHour = 3600;
  const double hours = kMillion / run.metrics.tokens_per_s_per_gpu / kSecondsInHour;  // of one GPU
  std::string out;
  if (hour.rented_usd)
    out = fmt::format("${:.2f} rented, at ${:.2f} per GPU-hour", hours * *hour.rented_usd, *hour.rented_usd);
  if (hour.bought_low_usd && hour.bought_high_usd)
    out += fmt::format("{}{}${:.2f} to ${:.2f} bought: purchase over {:g} years and electricity",
                       out.empty() ? "" : ", and ", hour.bought_complete ? "" : "at least ",
                       hours * *hour.bought_low_usd, hours * *hour.bought_high_usd, hour.years);
  return out.empty() ? out : "A million tokens cost " + out + ".";
}

}  // namespace busbar::views
