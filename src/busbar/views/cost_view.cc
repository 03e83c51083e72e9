// What a machine costs: its parts, its power, training on it, and when an upgrade has paid for itself.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/cost/money.h"
#include "busbar/questions/cost_question.h"
#include "busbar/report/style.h"
#include "busbar/views/token_cost.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::CostPayback;
using questions::CostRequest;
using questions::CostResult;

std::string price_words(const cost::BillLine& line, double count) {
  if (!line.price_in.empty()) return "in " + line.price_in;
  return line.each.usd ? cost::dollars({line.each.usd->low * count, line.each.usd->high * count}) : "no price";
}

std::string power_words(const cost::BillLine& line) {
  if (!line.power_in.empty()) return "in " + line.power_in;
  return line.each.power_w ? cost::rating_text(*line.each.power_w * static_cast<double>(line.count)) : "not known";
}

report::Table bill_table(const cost::Bill& bill) {
  report::Table t{"Parts", {report::to_left("kind"), report::to_left("part"), "count", "each", "together", "power"}};
  for (const cost::BillLine& line : bill.lines) {
    const std::string kind =
        line.tier.empty() ? cost::name_of(line.group) : line.tier + ' ' + cost::name_of(line.group);
    t.rows.push_back({kind, line.part, std::to_string(line.count), price_words(line, 1),
                      price_words(line, static_cast<double>(line.count)), power_words(line)});
  }
  t.note = "Prices are ranges of what was asked, no quotations; powers are ratings. --prices FILE replaces both.";
  return t;
}

constexpr int kPartColours[] = {report::colour::kCompute, report::colour::kTp,        report::colour::kDp,
                                report::colour::kPp,      report::colour::kOptimizer, report::colour::kCp,
                                report::colour::kEp};

/// The lines of the bill as parts of a bar; `value` is 0 for lines that it does not count.
report::Bars bill_bars(const cost::Bill& bill, std::string title, std::string unit,
                       const std::function<double(const cost::BillLine&)>& value) {
  report::Bars out{std::move(title), std::move(unit), {{"machine", {}}}};
  std::vector<report::BarPart>& parts = out.bars[0].parts;
  for (const cost::BillLine& line : bill.lines) {
    const std::string name = (line.tier.empty() ? "" : line.tier + ' ') + cost::name_of(line.group);
    auto at = std::find_if(parts.begin(), parts.end(), [&](const report::BarPart& p) { return p.name == name; });
    if (at == parts.end()) at = parts.insert(at, {name, 0, kPartColours[parts.size() % std::size(kPartColours)]});
    at->value += value(line) * static_cast<double>(line.count);
  }
  return out;
}

void add_bars(const CostResult& r, report::Document& d) {
  const report::Bars usd = bill_bars(
      r.bill, "What it costs, in the middle of the prices asked", "M$",
      [](const cost::BillLine& l) { return l.price_in.empty() && l.each.usd ? l.each.usd->middle() / 1e6 : 0.0; });
  const report::Bars power = bill_bars(r.bill, "What it draws, as rated", "kW", [](const cost::BillLine& l) {
    return l.power_in.empty() && l.each.power_w ? *l.each.power_w / 1e3 : 0.0;
  });
  for (const report::Bars& b : {usd, power})
    if (std::any_of(b.bars[0].parts.begin(), b.bars[0].parts.end(), [](const auto& p) { return p.value > 0; }))
      d.add(b, report::Audience::kPage);
}

/// The sources of the prices, one line per part.
report::Facts price_sources(const cost::Bill& bill) {
  report::Facts out{"Sources of the prices", {}};
  for (const cost::BillLine& line : bill.lines)
    if (line.price_in.empty() && line.each.usd) out.items.emplace_back(line.part, line.each.source);
  return out;
}

/// Buying and renting in one sentence; empty if neither price is known.
std::string buy_or_rent(const CostResult& r) {
  std::string out;
  if (r.sums.all.high > 0)
    out = fmt::format("To buy: {}{}{}.", r.complete ? "" : "at least ", cost::dollars(r.sums.all),
                      r.power_w ? ", " + cost::rating_text(*r.power_w) : "");
  if (r.rent_usd_per_year)
    out += fmt::format("{}To rent: {} a year.", out.empty() ? "" : " ", cost::dollars(*r.rent_usd_per_year));
  return out;
}

const char* least_if(bool incomplete) { return incomplete ? "at least " : ""; }

std::string machine_price_words(const CostResult& r) {
  if (r.sums.all.high <= 0) return "not known: none of its parts has a public price";
  return fmt::format("{}{}; {} per GPU", least_if(!r.complete), cost::dollars(r.sums.all),
                     cost::dollars(r.capex_per_gpu_usd.value_or(0)));
}

std::string network_price_words(const CostResult& r) {
  std::string out = r.sums.network.high > 0 || r.complete ? cost::dollars(r.sums.network) : "not known";
  if (r.network_share)
    out += fmt::format(", {} % of the price without NICs in servers", format_number(100 * *r.network_share, 2));
  return out;
}

void add_power(const CostResult& r, report::Facts& out) {
  constexpr double kKilowattHoursPerMwh = 1e3;
  if (!r.power_w) {
    out.items.emplace_back("power", "not known");
    return;
  }
  out.items.emplace_back(
      "power", fmt::format("{}{} rated, {} of it for the network; {} with a PUE of {:g}",
                           least_if(!r.unpowered.empty()), cost::rating_text(*r.power_w),
                           cost::rating_text(*r.network_power_w), cost::rating_text(r.facility_power_w), r.pue));
  out.items.emplace_back("electricity", fmt::format("{} MWh, {} a year at {:g} $/kWh",
                                                    format_number(r.energy_kwh_per_year / kKilowattHoursPerMwh),
                                                    cost::dollars(r.energy_usd_per_year), r.usd_per_kwh));
}

void add_left_out(const char* of, const std::vector<std::string>& parts, report::Facts& out) {
  if (!parts.empty()) out.items.emplace_back(of, comma_list(parts) + ": not in these sums");
}

report::Facts machine_cost_facts(const CostResult& r) {
  report::Facts f;
  f.items = {{"price", machine_price_words(r)}, {"network", network_price_words(r)}};
  if (r.rent_usd_per_gpu_hour)
    f.items.emplace_back(
        "rent", fmt::format("{} per GPU and hour, {} a year for all ({})", cost::format_money(*r.rent_usd_per_gpu_hour),
                            cost::dollars(*r.rent_usd_per_year), r.rent_source));
  add_power(r, f);
  if (r.sums.all.high > 0)
    f.items.emplace_back(
        "per GPU and hour",
        fmt::format("{}{} over {:g} years: purchase and electricity only, without storage and the "
                    "networks of storage and management",
                    least_if(!r.complete), cost::dollars({r.usd_per_gpu_hour_low, r.usd_per_gpu_hour_high}), r.years));
  add_left_out("without a price", r.unpriced, f);
  add_left_out("without a power", r.unpowered, f);
  return f;
}

std::string months_words(double months, double percent, double usd_per_hour) {
  const double saved = percent / 100 * usd_per_hour * cost::kHoursPerYear / 12;
  return fmt::format("{} months: {} a month", format_number(months), cost::dollars(saved));
}

report::Facts payback_facts(const CostPayback& p) {
  report::Facts f{fmt::format("An upgrade for {} that saves {:g} % of the time", cost::dollars(p.usd), p.saves_percent),
                  {}};
  if (p.months_at_rent)
    f.items.emplace_back("paid back, at rent", months_words(*p.months_at_rent, p.saves_percent, p.rented_usd_per_hour));
  if (p.months_at_own_cost)
    f.items.emplace_back("at the owner's cost",
                         months_words(*p.months_at_own_cost, p.saves_percent, p.owned_usd_per_hour));
  return f;
}

report::Document cost_document(const CostRequest& q, const CostResult& r) {
  report::Document d{"Cost of " + r.cluster, {}, {}};
  if (std::string words = buy_or_rent(r); !words.empty())
    d.add(report::Highlight{std::move(words)}, report::Audience::kPage);
  add_bars(r, d);
  d.add(machine_cost_facts(r));
  if (r.step) d.add(token_cost_facts(*r.step, r.tokens));
  d.add(bill_table(r.bill));
  if (r.payback) d.add(payback_facts(*r.payback));
  d.add(price_sources(r.bill), q.explain ? report::Audience::kBoth : report::Audience::kPage);
  return d;
}

}  // namespace

View cost_view() { return make_view("cost", cost_document); }

}  // namespace busbar::views
