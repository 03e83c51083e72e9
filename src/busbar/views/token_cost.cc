#include "busbar/views/token_cost.h"

#include <fmt/core.h>

#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/cost/money.h"
#include "busbar/plan/layout_flags.h"

namespace busbar::views {
namespace {

constexpr std::pair<char, double> kCounts[] = {{'T', 1e12}, {'B', 1e9}, {'M', 1e6}, {'K', 1e3}};

cost::WorkCost of_step(const questions::CompareRow& r) {
  return cost::cost_of(r.cost.rate, r.run.step.step_time.in_s());
}
cost::WorkCost of_tokens(const questions::CompareRow& r, double tokens) {
  return cost::cost_of_tokens(r.cost.rate, tokens, r.tokens_per_s());
}

std::string energy_words(double kwh) {
  if (kwh >= 1e6) return format_number(kwh / 1e6) + " GWh";
  return kwh >= 1e3 ? format_number(kwh / 1e3) + " MWh" : format_number(kwh) + " kWh";
}

/// "> 1 kWh" or "-" where ratings are not known.
std::string energy_words(const questions::CompareRow& r, double kwh) {
  if (r.cost.sums.power_w <= 0) return "-";
  return (r.cost.sums.unpowered.empty() ? "" : "> ") + energy_words(kwh);
}

std::string cost_words(const questions::CompareRow& r, const cost::WorkCost& c) {
  const double usd = r.rent_usd(c);
  const std::string rented = usd > 0 ? fmt::format("; {} rented", cost::dollars(usd)) : "";
  if (r.cost.sums.power_w <= 0 && usd > 0) return cost::dollars(usd) + " rented; what it costs to buy is not known";
  if (r.cost.sums.power_w <= 0) return "not known: the catalogue has no price and no power of this machine";
  const std::string energy = fmt::format("{} ({})", energy_words(r, c.kwh), cost::dollars(c.energy_usd));
  if (r.cost.sums.all.high <= 0) return energy + (usd > 0 ? rented : "; without prices nothing else is known");
  return fmt::format("{}{} bought, of it {} of electricity{}", r.cost.sums.complete() ? "" : "at least ",
                     cost::dollars(c.usd), energy, rented);
}

}  // namespace

std::string words_of_tokens(double tokens) {
  for (const auto& [letter, size] : kCounts)
    if (tokens >= size) return fmt::format("{}{} tokens", format_number(tokens / size), letter);
  return format_number(tokens) + " tokens";
}

report::Facts token_cost_facts(const questions::CompareRow& r, double tokens) {
  constexpr double kMillion = 1e6;
  report::Facts f{fmt::format("Training {}", r.run.scenario.model.name), {}};
  f.items = {
      {"step", fmt::format("{}, {} tokens, {:.1f} % MFU, {}{}", format_duration(r.run.step.step_time.in_s()),
                           format_number(r.tokens_per_s() * r.run.step.step_time.in_s(), 4), 100 * r.run.metrics.mfu,
                           plan::layout_flags(r.run.layout), r.planned ? " (searched)" : "")},
      {"per step", cost_words(r, of_step(r))},
      {"per million tokens", cost_words(r, of_tokens(r, kMillion))}};
  if (tokens > 0) {
    const cost::WorkCost run = of_tokens(r, tokens);
    f.items.emplace_back(words_of_tokens(tokens), fmt::format("{} days, {}; without failures (busbar survive)",
                                                              format_number(run.days()), cost_words(r, run)));
  }
  return f;
}

report::Table run_table(const std::vector<questions::CompareRow>& rows, double tokens) {
  report::Table t{words_of_tokens(tokens) + ", without failures",
                  {report::to_left(""), "days", report::to_left("bought"), report::to_left("rented"), "energy"}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const cost::WorkCost run = of_tokens(rows[i], tokens);
    t.rows.push_back(
        {questions::letter_of(i), format_number(run.days()),
         rows[i].cost.sums.all.high > 0 ? (rows[i].cost.sums.complete() ? "" : "> ") + cost::dollars(run.usd) : "-",
         rows[i].rent_usd(run) > 0 ? cost::dollars(rows[i].rent_usd(run)) : "-", energy_words(run.kwh)});
  }
  return t;
}

}  // namespace busbar::views
