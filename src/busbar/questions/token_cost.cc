#include "busbar/questions/token_cost.h"

#include <fmt/core.h>

#include <cctype>
#include <cmath>
#include <utility>

#include "busbar/base/text.h"
#include "busbar/cost/run_cost.h"
#include "busbar/questions/question.h"

namespace busbar::cost {

const Record& record_of(const CostTerms*) {
  using T = CostTerms;
  static const Record record(
      "terms",
      {Field("power_price", &T::usd_per_kwh, "USD/kWh", "price of a kWh in $ (default 0.08)").takes("USD").of("Cost"),
       Field("pue", &T::pue, "", "power of the building over that of the machine (default 1.2)")
           .takes("FACTOR")
           .of("Cost"),
       Field("years", &T::years, "years", "years over which the purchase is spread (default 4)")
           .takes("N")
           .of("Cost")});
  return record;
}

const Record& record_of(const CostOptions*) {
  using C = CostOptions;
  static const Record record(
      "cost", joined({{Field("prices", &C::prices, "",
                             "YAML file with your own prices and powers; they replace those of the catalogue")
                           .takes("FILE")
                           .of("Cost")},
                      fields_inside(&C::terms)}));
  return record;
}

}  // namespace busbar::cost

namespace busbar::questions {

Result<double> parse_count(const std::string& text, const char* field, const char* example) {
  constexpr std::pair<char, double> kCounts[] = {{'T', 1e12}, {'B', 1e9}, {'M', 1e6}, {'K', 1e3}};
  double factor = 1, value = 0;
  std::string number = text;
  for (const auto& [letter, size] : kCounts) {
    if (number.empty() || std::toupper(static_cast<unsigned char>(number.back())) != letter) continue;
    factor = size;
    number.pop_back();
    break;
  }
  if (is_number(number, value) && std::isfinite(value) && value > 0) return value * factor;
  return invalid(fmt::format("'{}' is no number above 0; write for example {}", text, example), field_of(field));
}

const Record& record_of(const WorkPrice*) {
  using W = WorkPrice;
  static const Record record("price", {{"usd_low", &W::usd_low, "USD", "bought; null: no price is known"},
                                       {"usd_high", &W::usd_high, "USD", "null: no price is known"},
                                       {"energy_usd", &W::energy_usd, "USD", "null: a power is not known"},
                                       {"kwh", &W::kwh, "kWh", "null: a power is not known"},
                                       {"rent_usd", &W::rent_usd, "USD", "the same, rented; null: not known"}});
  return record;
}

const Record& record_of(const WholeRun*) {
  using W = WholeRun;
  static const Record record(
      "run", joined({fields_inside(&W::price),
                     {{"tokens", &W::tokens, "", "of the run"}, {"days", &W::days, "days", "without failures"}}}));
  return record;
}

const Record& record_of(const TokenCost*) {
  using T = TokenCost;
  static const Record record("training",
                             {{"step_time_s", &T::step_time_s, "s", "of one step: mean, with the slowest GPU"},
                              {"balanced_step_time_s", &T::balanced_step_time_s, "s", "if all GPUs were equal"},
                              {"tokens_per_s", &T::tokens_per_s, "", "of all GPUs"},
                              {"mfu", &T::mfu, "", "of the dense bf16 peak"},
                              {"per_step", &T::per_step, "", "money and energy"},
                              {"per_million_tokens", &T::per_million_tokens, "", "money and energy"},
                              Field("whole_run", &T::whole_run, "", "of all tokens").or_absent()});
  return record;
}

namespace {

WorkPrice work_price(const CompareRow& r, const cost::WorkCost& c) {
  WorkPrice out;
  if (r.cost.sums.all.high > 0) out.usd_low = c.usd.low, out.usd_high = c.usd.high;
  if (r.cost.sums.unpowered.empty()) out.energy_usd = c.energy_usd, out.kwh = c.kwh;
  if (const double usd = r.rent_usd(c); usd > 0) out.rent_usd = usd;
  return out;
}

}  // namespace

std::optional<WholeRun> whole_run(const CompareRow& r, double tokens) {
  if (tokens <= 0) return std::nullopt;
  const cost::WorkCost run = cost::cost_of_tokens(r.cost.rate, tokens, r.tokens_per_s());
  return WholeRun{work_price(r, run), tokens, run.days()};
}

TokenCost token_cost(const CompareRow& r, double tokens) {
  constexpr double kMillion = 1e6;
  const double step_s = r.run.step.step_time.in_s();
  return {step_s,
          r.run.step.balanced.in_s(),
          r.tokens_per_s(),
          r.run.metrics.mfu,
          work_price(r, cost::cost_of(r.cost.rate, step_s)),
          work_price(r, cost::cost_of_tokens(r.cost.rate, kMillion, r.tokens_per_s())),
          whole_run(r, tokens)};
}

}  // namespace busbar::questions
