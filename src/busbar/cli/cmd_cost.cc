#include <fmt/core.h>

#include <memory>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/question_command.h"
#include "busbar/cli/session.h"
#include "busbar/cost/bill.h"
#include "busbar/cost/money.h"
#include "busbar/cost/run_cost.h"
#include "busbar/questions/step_request.h"
#include "busbar/questions/token_cost.h"
#include "busbar/step/machine.h"
#include "busbar/views/token_cost.h"

namespace busbar {
namespace {

struct CostFlags {
  CommonOptions common;
  std::string cluster;
  CostOptions cost;
  ScenarioFlags flags;  ///< of a step; without a model: none
  std::string tokens, upgrade;
  double saves_percent = 0;
};

constexpr double kKilowattHoursPerMwh = 1e3;
PriceRange times(const PriceRange& r, double n) { return {r.low * n, r.high * n}; }

Json to_json(const BillLine& line) {
  const auto n = static_cast<double>(line.count);
  const auto text = [](const std::string& word) { return word.empty() ? Json(nullptr) : Json(word); };
  Json j{{"group", name_of(line.group)}, {"part", line.part}, {"tier", text(line.tier)}, {"count", line.count}};
  const bool priced = line.price_in.empty() && line.each.usd, powered = line.power_in.empty() && line.each.power_w;
  j["each_low_usd"] = priced ? Json(line.each.usd->low) : Json(nullptr);
  j["each_high_usd"] = priced ? Json(line.each.usd->high) : Json(nullptr);
  j["usd"] = priced ? Json(line.each.usd->middle() * n) : Json(nullptr);
  j["price_in"] = text(line.price_in);
  j["each_power_w"] = powered ? Json(*line.each.power_w) : Json(nullptr);
  j["power_w"] = powered ? Json(*line.each.power_w * n) : Json(nullptr);
  j["power_in"] = text(line.power_in);
  j["length_m"] = line.length_m > 0 ? Json(line.length_m) : Json(nullptr);
  j["source"] = priced ? text(line.each.source) : Json(nullptr);
  j["confidence"] = priced ? text(line.each.confidence) : Json(nullptr);
  return j;
}

std::string price_text(const BillLine& line, double count) {
  if (!line.price_in.empty()) return "in " + line.price_in;
  return line.each.usd ? dollars(times(*line.each.usd, count)) : "no price";
}

Table table_of(const Bill& bill) {
  Table t{"Parts", {to_left("kind"), to_left("part"), "count", "each", "together", "power"}};
  for (const BillLine& line : bill.lines) {
    const auto n = static_cast<double>(line.count);
    std::string power = line.each.power_w ? rating_text(*line.each.power_w * n) : "not known";
    if (!line.power_in.empty()) power = "in " + line.power_in;
    const std::string kind = line.tier.empty() ? name_of(line.group) : line.tier + ' ' + name_of(line.group);
    t.rows.push_back(
        {kind, line.part, std::to_string(line.count), price_text(line, 1), price_text(line, n), std::move(power)});
  }
  t.note = "Prices are ranges of what was asked, no quotations; powers are ratings. --prices FILE replaces both.";
  return t;
}

/// The sources of the prices, one line per part.
Facts sources_of(const Bill& bill) {
  Facts out{"Sources of the prices", {}};
  for (const BillLine& line : bill.lines)
    if (line.price_in.empty() && line.each.usd) out.items.emplace_back(line.part, line.each.source);
  return out;
}

struct CostResult {
  Bill bill;
  BillSums sums;
  RunningCost running;
  double rent_usd_per_gpu_hour = 0;  ///< 0: not known
  std::string rent_source;
  bool knows_power() const { return sums.power_w > 0 || sums.unpowered.empty(); }
  double rent_usd_per_year() const { return rent_usd_per_gpu_hour * static_cast<double>(bill.gpus) * kHoursPerYear; }
};

double share(double part, double all) { return all > 0 ? part / all : 0; }

Json to_json(const CostResult& r, const CostTerms& terms) {
  const BillSums& s = r.sums;
  const auto gpus = static_cast<double>(r.bill.gpus);
  Json j{{"schema", "busbar.cost/1"},
         {"gpus", r.bill.gpus},
         {"capex_usd", s.all.middle()},
         {"capex_low_usd", s.all.low},
         {"capex_high_usd", s.all.high},
         {"capex_per_gpu_usd", gpus > 0 ? Json(s.all.middle() / gpus) : Json(nullptr)},
         {"network_usd", s.network.middle()},
         {"network_share", s.complete() ? Json(share(s.network.middle(), s.all.middle())) : Json(nullptr)},
         {"complete", s.complete()},
         {"unpriced", s.unpriced},
         {"power_w", r.knows_power() ? Json(s.power_w) : Json(nullptr)},
         {"network_power_w", r.knows_power() ? Json(s.network_power_w) : Json(nullptr)},
         {"unpowered", s.unpowered},
         {"facility_power_w", r.running.facility_power_w},
         {"energy_kwh_per_year", r.running.kwh_per_year},
         {"energy_usd_per_year", r.running.energy_usd_per_year},
         {"usd_per_gpu_hour", r.running.usd_per_gpu_hour.middle()},
         {"usd_per_gpu_hour_low", r.running.usd_per_gpu_hour.low},
         {"usd_per_gpu_hour_high", r.running.usd_per_gpu_hour.high},
         {"rent_usd_per_gpu_hour", r.rent_usd_per_gpu_hour > 0 ? Json(r.rent_usd_per_gpu_hour) : Json(nullptr)},
         {"rent_usd_per_year", r.rent_usd_per_gpu_hour > 0 ? Json(r.rent_usd_per_year()) : Json(nullptr)},
         {"usd_per_kwh", terms.usd_per_kwh},
         {"pue", terms.pue},
         {"years", terms.years},
         {"parts", Json::array()}};
  for (const BillLine& line : r.bill.lines) j["parts"].push_back(to_json(line));
  return j;
}

/// Buying and renting in one sentence; empty if neither price is known.
std::string prices_in_words(const CostResult& r) {
  std::string out;
  if (r.sums.all.high > 0)
    out = fmt::format("To buy: {}{}{}.", r.sums.complete() ? "" : "at least ", dollars(r.sums.all),
                      r.knows_power() ? ", " + rating_text(r.sums.power_w) : "");
  if (r.rent_usd_per_gpu_hour > 0)
    out += fmt::format("{}To rent: {} a year.", out.empty() ? "" : " ", dollars(r.rent_usd_per_year()));
  return out;
}

Facts facts_of(const CostResult& r, const CostTerms& terms) {
  const BillSums& s = r.sums;
  Facts f;
  const auto gpus = static_cast<double>(r.bill.gpus);
  const char* least = s.complete() ? "" : "at least ";
  const char* least_power = s.unpowered.empty() ? "" : "at least ";
  std::string network = s.network.high > 0 || s.complete() ? dollars(s.network) : "not known";
  if (s.complete())
    network += fmt::format(", {} % of the price without NICs in servers",
                           format_number(100 * share(s.network.middle(), s.all.middle()), 2));
  const bool bought = s.all.high > 0;
  std::string price = "not known: none of its parts has a public price";
  if (bought) price = fmt::format("{}{}; {} per GPU", least, dollars(s.all), dollars(share(s.all.middle(), gpus)));
  f.items = {{"price", price}, {"network", network}};
  if (r.rent_usd_per_gpu_hour > 0)
    f.items.emplace_back(
        "rent", fmt::format("{} per GPU and hour, {} a year for all ({})", format_money(r.rent_usd_per_gpu_hour),
                            dollars(r.rent_usd_per_year()), r.rent_source));
  if (r.knows_power()) {
    f.items.emplace_back("power", fmt::format("{}{} rated, {} of it for the network; {} with a PUE of {:g}",
                                              least_power, rating_text(s.power_w), rating_text(s.network_power_w),
                                              rating_text(r.running.facility_power_w), terms.pue));
    f.items.emplace_back("electricity", fmt::format("{} MWh, {} a year at {:g} $/kWh",
                                                    format_number(r.running.kwh_per_year / kKilowattHoursPerMwh),
                                                    dollars(r.running.energy_usd_per_year), terms.usd_per_kwh));
  } else {
    f.items.emplace_back("power", "not known");
  }
  if (bought)
    f.items.emplace_back("per GPU and hour", fmt::format("{}{} over {:g} years: purchase and electricity only", least,
                                                         dollars(r.running.usd_per_gpu_hour), terms.years));
  if (!s.unpriced.empty()) f.items.emplace_back("without a price", comma_list(s.unpriced) + ": not in these sums");
  if (!s.unpowered.empty()) f.items.emplace_back("without a power", comma_list(s.unpowered) + ": not in these sums");
  return f;
}

/// The step of --model on the machine.
Result<CompareRow> run_model(const CostFlags& o) {
  CompareAsk ask;
  ask.machines = {o.cluster};
  ask.input = {"", o.flags, o.common.overrides};
  ask.train.timeline = ask.train.scaling = false;
  ask.cost = o.cost;
  LongRun watch("steps");
  BUSBAR_ASSIGN(std::vector<CompareRow> rows, run_compare(ask, watch.context()));
  if (rows.empty()) return invalid("interrupted before the step was known");
  return std::move(rows.front());
}

/// What an upgrade saves, at the price of renting the machine's GPUs and at what they cost their owner.
struct Payback {
  double usd = 0, percent = 0;
  double rented_usd_per_hour = 0, owned_usd_per_hour = 0;  ///< of the whole machine; rented: 0 if unknown
};

Result<Payback> read_payback(const CostFlags& o, const Cluster& cluster, const CostResult& r) {
  Payback out;
  BUSBAR_ASSIGN(out.usd, questions::parse_count(o.upgrade, "--upgrade", "10M (1e6) or 250K"));
  if (o.saves_percent <= 0 || o.saves_percent >= 100)
    return flag_error("--saves", "an upgrade saves more than 0 and less than 100 % of the machine's time");
  out.percent = o.saves_percent;
  const auto gpus = static_cast<double>(r.bill.gpus);
  out.rented_usd_per_hour = gpus * cluster.usd_per_gpu_hour;
  out.owned_usd_per_hour = gpus * r.running.usd_per_gpu_hour.middle();
  return out;
}

std::string months_words(const Payback& p, double usd_per_hour) {
  const double saved = p.percent / 100 * usd_per_hour * kHoursPerYear / 12;
  return fmt::format("{} months: {} a month", format_number(payback_months(p.usd, p.percent, usd_per_hour)),
                     dollars(saved));
}

void add_payback(const Payback& p, Json& j, Document& d) {
  const auto months = [&](double rate) {
    return rate > 0 ? Json(payback_months(p.usd, p.percent, rate)) : Json(nullptr);
  };
  j["payback"] = {{"usd", p.usd},
                  {"saves_percent", p.percent},
                  {"months_at_rent", months(p.rented_usd_per_hour)},
                  {"months_at_own_cost", months(p.owned_usd_per_hour)}};
  Facts f{fmt::format("An upgrade for {} that saves {:g} % of the time", dollars(p.usd), p.percent), {}};
  if (p.rented_usd_per_hour > 0) f.items.emplace_back("paid back, at rent", months_words(p, p.rented_usd_per_hour));
  if (p.owned_usd_per_hour > 0) f.items.emplace_back("at the owner's cost", months_words(p, p.owned_usd_per_hour));
  d.add(std::move(f));
}

Result<int> run(const CostFlags& o) {
  if (const Status fine = o.cost.check(); !fine.ok()) return as_flag(fine.error());
  BUSBAR_ASSIGN(const Cluster cluster, load_machine(o.cluster, o.common.overrides));
  BUSBAR_ASSIGN(const PriceList prices, PriceList::open(Catalog(o.common.overrides.catalog), o.cost.prices));
  CostResult r;
  BUSBAR_ASSIGN(r.bill, bill_of(cluster, prices));
  r.sums = sums_of(r.bill);
  r.running = running_cost(r.bill, r.sums, o.cost.terms);
  r.rent_usd_per_gpu_hour = cluster.usd_per_gpu_hour;
  r.rent_source = cluster.price_source;
  Json j = to_json(r, o.cost.terms);
  j["inputs_hash"] = inputs_hash(o.common, cluster.text + prices.text());
  Document d{fmt::format("Cost of {}", cluster.name), o.common.typed, {}};
  d.blocks = {{facts_of(r, o.cost.terms)}, {table_of(r.bill)}};
  if (!o.flags.model.empty()) {
    double tokens = 0;
    if (!o.tokens.empty()) {
      BUSBAR_ASSIGN(tokens, questions::parse_count(o.tokens, "--tokens", "15T (1e12), 300B (1e9) or 2e9"));
    }
    BUSBAR_ASSIGN(const CompareRow row, run_model(o));
    j["training"] = busbar::to_json(questions::token_cost(row, tokens));
    d.blocks.insert(d.blocks.begin() + 1, {views::token_cost_facts(row, tokens), Audience::kBoth});
  }
  if (const std::string words = prices_in_words(r); !words.empty())
    d.blocks.insert(d.blocks.begin(), {Highlight{words}, Audience::kPage});
  if (!o.upgrade.empty()) {
    BUSBAR_ASSIGN(const Payback payback, read_payback(o, cluster, r));
    add_payback(payback, j, d);
  }
  d.add(sources_of(r.bill), o.common.explain ? Audience::kBoth : Audience::kPage);
  return deliver(o.common, j, d);
}

}  // namespace

Command cost_command(const std::string& typed) {
  const auto o = std::make_shared<CostFlags>();
  Command c =
      new_command(o->common, typed, "cost",
                  "parts of a machine with prices and powers: servers, switches, optics, cables, $ per GPU and hour");
  c.examples =
      "  busbar cost dgx-h100:64\n"
      "  busbar cost dgx-h100:64 --prices ours.yaml --years 5\n"
      "  busbar cost dgx-h100:2048 --power-price 0.06 --pue 1.1 --json\n"
      "  busbar cost '{node: dgx-h100, nodes: 64, fabric: roce-400g-rail}' --csv\n"
      "  busbar cost dgx-h100:2048 --model llama3.1-405b --tokens 15T\n"
      "  busbar cost dgx-h100:2048 --upgrade 10M --saves 5\n";
  c.positionals = {cluster_word(o->cluster)};
  c.flags = flags_of(record_of(&o->cost), &o->cost);
  c.add({with("--saves",
              {"--upgrade", "USD", "price of an upgrade, such as 10M: after how many months it has paid for itself",
               "Cost", &o->upgrade}),
         with("--upgrade", {"--saves", "PERCENT", "percent of the machine's time that the upgrade saves", "Cost",
                            &o->saves_percent}),
         with("--model",
              {"--tokens", "N", "also days, price and energy of a run of N tokens: 15T, 300B", "Cost", &o->tokens})});
  for (Flag& f : flags_of(record_of(&o->flags), &o->flags))
    if (f.names != "--cluster") {
      if (f.names != "--model") f.needs = "--model";
      c.flags.push_back(std::move(f));
    }
  c.flags.push_back(cluster_flag(o->cluster));
  add_common_flags(c, o->common, Engines::kNone);
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
