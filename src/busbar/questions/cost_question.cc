#include "busbar/questions/cost_question.h"

#include <algorithm>
#include <utility>

#include "busbar/questions/job_file.h"
#include "busbar/questions/machine_request.h"
#include "busbar/questions/question.h"
#include "busbar/questions/step_ask.h"
#include "busbar/questions/step_request.h"
#include "busbar/step/machine.h"

namespace busbar::questions {
namespace {

/// The model and its layout; the machine has a field of its own.
std::vector<Field> priced_step_fields() {
  std::vector<Field> out = fields_inside(&CostRequest::flags);
  std::erase_if(out, [](const Field& f) { return f.name == "cluster"; });
  return out;
}

/// Error for what concerns a step, where neither a model nor a job is named.
Status refuse_without_step(const CostRequest& r) {
  const CostRequest defaults;
  const Record& record = record_of(&r);
  std::vector<std::string> of_steps{"tokens"};
  for (const Field& f : priced_step_fields()) of_steps.push_back(f.name);
  for (const Field& f : record.fields())
    if (std::find(of_steps.begin(), of_steps.end(), f.name) != of_steps.end() &&
        to_json(*f.type, f.at(&r)).dump() != to_json(*f.type, f.at(&defaults)).dump())
      return unsupported("has no effect without --model or --from; add one, or leave this out", field_of(f.name));
  return {};
}

}  // namespace

const Record& record_of(const CostRequest*) {
  using C = CostRequest;
  static const Record record = [] {
    Field explain = explain_field(&C::explain);
    explain.meaning = "show the sources of the prices";
    return Record(
        "cost request",
        joined({fields_inside(&C::cost),
                {Field("upgrade", &C::upgrade, "USD",
                       "price of an upgrade, such as 10M: after how many months it has paid for itself")
                     .takes("USD")
                     .of("Cost")
                     .with("saves"),
                 Field("saves", &C::saves, "%", "percent of the machine's time that the upgrade saves")
                     .takes("PERCENT")
                     .of("Cost")
                     .with("upgrade"),
                 Field("tokens", &C::tokens, "", "also days, price and energy of a run of N tokens: 15T, 300B")
                     .takes("N")
                     .of("Cost"),
                 from_field(&C::from)},
                priced_step_fields(),
                {cluster_field(&C::cluster)},
                fields_inside(&C::machine),
                {std::move(explain)}}));
  }();
  return record;
}

const Record& record_of(const CostPart*) {
  using P = CostPart;
  static const Record record(
      "part", {{"group", &P::group, "", "server, GPU, NIC, switch, optics or cable"},
               {"part", &P::part, "", "of the catalogue, or the name on the product"},
               {"tier", &P::tier, "", "of switches: leaf, spine, ..."},
               {"count", &P::count, "", "as they are sold: both ends of a copper cable are one"},
               {"each_low_usd", &P::each_low_usd, "USD", "null: not known, or in another part's price"},
               {"each_high_usd", &P::each_high_usd, "USD", "null: not known, or in another part's price"},
               {"usd", &P::usd, "USD", "of all, at the middle of the range"},
               {"price_in", &P::price_in, "", "the part whose price includes this one's"},
               {"each_power_w", &P::each_power_w, "W", "rating; null: not known, or in another part's power"},
               {"power_w", &P::power_w, "W", "of all"},
               {"power_in", &P::power_in, "", "the part whose power includes this one's"},
               {"length_m", &P::length_m, "m", "of cables and fibres, all together"},
               {"source", &P::source, "", "of the price"},
               {"confidence", &P::confidence, "", "in the price"}});
  return record;
}

const Record& record_of(const CostPayback*) {
  using P = CostPayback;
  static const Record record("payback",
                             {{"usd", &P::usd, "USD", "of the upgrade"},
                              {"saves_percent", &P::saves_percent, "%", "of the machine's time"},
                              {"months_at_rent", &P::months_at_rent, "months", "null: its rent is not known"},
                              {"months_at_own_cost", &P::months_at_own_cost, "months", "null: no price is known"}});
  return record;
}

const Record& record_of(const CostResult*) {
  using C = CostResult;
  static const Record record(
      "cost result",
      {{"gpus", &C::gpus, "", "of the machine"},
       {"capex_usd", &C::capex_usd, "USD", "of all parts with a price, at the middle of their ranges"},
       {"capex_low_usd", &C::capex_low_usd, "USD", "with every price at its low end"},
       {"capex_high_usd", &C::capex_high_usd, "USD", "with every price at its high end"},
       {"capex_per_gpu_usd", &C::capex_per_gpu_usd, "USD", "null: there are no GPUs"},
       {"network_usd", &C::network_usd, "USD", "NICs that are not in a server's price, switches, optics and cables"},
       {"network_share", &C::network_share, "", "of the price; null: a price is not known"},
       {"complete", &C::complete, "", "every part has a price"},
       {"unpriced", &C::unpriced, "", "parts without a price, which the sums leave out"},
       {"power_w", &C::power_w, "W", "ratings of all parts; null: none is known"},
       {"network_power_w", &C::network_power_w, "W", "of the network"},
       {"unpowered", &C::unpowered, "", "parts without a power, which the sums leave out"},
       {"facility_power_w", &C::facility_power_w, "W", "of the building"},
       {"energy_kwh_per_year", &C::energy_kwh_per_year, "kWh", "of the building"},
       {"energy_usd_per_year", &C::energy_usd_per_year, "USD", "of the building"},
       {"usd_per_gpu_hour", &C::usd_per_gpu_hour, "USD", "purchase over the years, and electricity"},
       {"usd_per_gpu_hour_low", &C::usd_per_gpu_hour_low, "USD", "with every price at its low end"},
       {"usd_per_gpu_hour_high", &C::usd_per_gpu_hour_high, "USD", "with every price at its high end"},
       {"rent_usd_per_gpu_hour", &C::rent_usd_per_gpu_hour, "USD", "null: not known"},
       {"rent_usd_per_year", &C::rent_usd_per_year, "USD", "of all GPUs"},
       {"usd_per_kwh", &C::usd_per_kwh, "USD", "as asked for"},
       {"pue", &C::pue, "", "power of the building over that of the machine, as asked for"},
       {"years", &C::years, "years", "over which the purchase is spread, as asked for"},
       {"parts", &C::parts, "", "the bill"},
       {"inputs_hash", &C::inputs_hash, "", "of everything that the answer depends on"},
       Field("training", &C::training, "", "of the model on this machine").or_absent(),
       Field("payback", &C::payback, "", "of the upgrade").or_absent()});
  return record;
}

namespace {

std::optional<std::string> word_if_any(const std::string& word) {
  return word.empty() ? std::nullopt : std::optional(word);
}
std::optional<double> if_known(bool known, double value) { return known ? std::optional(value) : std::nullopt; }

void take_price(const cost::BillLine& line, CostPart& out) {
  if (!line.price_in.empty() || !line.each.usd) return;
  out.each_low_usd = line.each.usd->low;
  out.each_high_usd = line.each.usd->high;
  out.usd = line.each.usd->middle() * static_cast<double>(line.count);
  out.source = word_if_any(line.each.source);
  out.confidence = word_if_any(line.each.confidence);
}

void take_power(const cost::BillLine& line, CostPart& out) {
  if (!line.power_in.empty() || !line.each.power_w) return;
  out.each_power_w = *line.each.power_w;
  out.power_w = *line.each.power_w * static_cast<double>(line.count);
}

CostPart cost_part(const cost::BillLine& line) {
  CostPart out;
  out.group = cost::name_of(line.group);
  out.part = line.part;
  out.tier = word_if_any(line.tier);
  out.count = line.count;
  out.price_in = word_if_any(line.price_in);
  out.power_in = word_if_any(line.power_in);
  out.length_m = if_known(line.length_m > 0, line.length_m);
  take_price(line, out);
  take_power(line, out);
  return out;
}

void take_sums(CostResult& out) {
  const cost::BillSums& s = out.sums;
  out.capex_usd = s.all.middle();
  out.capex_low_usd = s.all.low;
  out.capex_high_usd = s.all.high;
  if (out.gpus > 0) out.capex_per_gpu_usd = s.all.middle() / static_cast<double>(out.gpus);
  out.network_usd = s.network.middle();
  out.complete = s.complete();
  if (out.complete) out.network_share = out.capex_usd > 0 ? out.network_usd / out.capex_usd : 0;
  out.unpriced = s.unpriced;
  const bool knows_power = s.power_w > 0 || s.unpowered.empty();
  out.power_w = if_known(knows_power, s.power_w);
  out.network_power_w = if_known(knows_power, s.network_power_w);
  out.unpowered = s.unpowered;
}

void take_running(const cost::RunningCost& running, const cost::CostTerms& terms, CostResult& out) {
  out.facility_power_w = running.facility_power_w;
  out.energy_kwh_per_year = running.kwh_per_year;
  out.energy_usd_per_year = running.energy_usd_per_year;
  out.usd_per_gpu_hour = running.usd_per_gpu_hour.middle();
  out.usd_per_gpu_hour_low = running.usd_per_gpu_hour.low;
  out.usd_per_gpu_hour_high = running.usd_per_gpu_hour.high;
  out.usd_per_kwh = terms.usd_per_kwh;
  out.pue = terms.pue;
  out.years = terms.years;
}

/// The step of the model on the machine.
Result<CompareRow> priced_step(const CostRequest& r, const Context& context, std::optional<JobFile>& job) {
  CompareAsk ask;
  ask.machines = {r.cluster};
  ask.input = {"", r.flags, r.machine};
  if (!r.from.empty()) {
    BUSBAR_ASSIGN(job, take_job({r.from, false, r.cluster, 0}, ask.input.flags, ask.input.overrides));
    ask.gpus = job->gpus;
  }
  ask.train = step_ask(context);
  ask.train.timeline = ask.train.scaling = false;
  ask.cost = r.cost;
  ask.as_train = true;
  BUSBAR_ASSIGN(std::vector<CompareRow> rows, run_compare(ask, context));
  if (rows.empty()) return invalid("interrupted before the step was known");
  return std::move(rows.front());
}

Status take_training(const CostRequest& r, const Context& context, CostResult& out) {
  if (!r.tokens.empty()) {
    BUSBAR_ASSIGN(out.tokens, parse_count(r.tokens, "tokens", "15T (1e12), 300B (1e9) or 2e9"));
  }
  std::optional<JobFile> job;
  Result<CompareRow> step = priced_step(r, context, job);
  if (!step.ok()) return job ? at_job(step.error(), *job) : step.error();
  out.step = std::move(*step);
  out.training = token_cost(*out.step, out.tokens);
  return {};
}

Result<CostPayback> payback_of(const CostRequest& r, const CostResult& found) {
  CostPayback out;
  BUSBAR_ASSIGN(out.usd, parse_count(r.upgrade, "upgrade", "10M (1e6) or 250K"));
  if (r.saves <= 0 || r.saves >= 100)
    return invalid("an upgrade saves more than 0 and less than 100 % of the machine's time", field_of("saves"));
  out.saves_percent = r.saves;
  const auto gpus = static_cast<double>(found.gpus);
  const auto months = [&](double usd_per_hour) {
    return if_known(usd_per_hour > 0, cost::payback_months(out.usd, out.saves_percent, usd_per_hour));
  };
  out.rented_usd_per_hour = gpus * found.rent_usd_per_gpu_hour.value_or(0);
  out.owned_usd_per_hour = gpus * found.usd_per_gpu_hour;
  out.months_at_rent = months(out.rented_usd_per_hour);
  out.months_at_own_cost = months(out.owned_usd_per_hour);
  return out;
}

Result<CostResult> price_machine(const spec::Cluster& cluster, const spec::PriceList& prices,
                                 const cost::CostTerms& terms) {
  CostResult out;
  BUSBAR_ASSIGN(out.bill, cost::bill_of(cluster, prices));
  out.gpus = out.bill.gpus;
  out.sums = cost::sums_of(out.bill);
  take_sums(out);
  take_running(cost::running_cost(out.bill, out.sums, terms), terms, out);
  if (cluster.usd_per_gpu_hour > 0) {
    out.rent_usd_per_gpu_hour = cluster.usd_per_gpu_hour;
    out.rent_usd_per_year = cluster.usd_per_gpu_hour * static_cast<double>(out.gpus) * cost::kHoursPerYear;
  }
  for (const cost::BillLine& line : out.bill.lines) out.parts.push_back(cost_part(line));
  out.cluster = cluster.name;
  out.rent_source = cluster.price_source;
  return out;
}

}  // namespace

Result<CostResult> answer(const CostRequest& r, const Context& context) {
  BUSBAR_RETURN_IF_ERROR(r.cost.check());
  BUSBAR_ASSIGN(const spec::Cluster cluster, step::load_machine(r.cluster, r.machine));
  BUSBAR_ASSIGN(const spec::PriceList prices, spec::PriceList::open(spec::Catalog(r.machine.catalog), r.cost.prices));
  BUSBAR_ASSIGN(CostResult out, price_machine(cluster, prices, r.cost.terms));
  out.inputs_hash = inputs_hash("cost", r, cluster.text + prices.text());
  const bool trains = !r.flags.model.empty() || !r.from.empty();
  BUSBAR_RETURN_IF_ERROR(trains ? take_training(r, context, out) : refuse_without_step(r));
  if (!r.upgrade.empty()) {
    BUSBAR_ASSIGN(out.payback, payback_of(r, out));
  }
  return out;
}

Question cost_question() {
  return make_question<CostRequest, CostResult>(
      "cost", "parts of a machine with prices and powers: servers, switches, optics, cables, $ per GPU and hour",
      "  busbar cost dgx-h100:64\n"
      "  busbar cost dgx-h100:64 --prices ours.yaml --years 5\n"
      "  busbar cost dgx-h100:2048 --power-price 0.06 --pue 1.1 --json\n"
      "  busbar cost '{node: dgx-h100, nodes: 64, fabric: roce-400g-rail}' --csv\n"
      "  busbar cost dgx-h100:2048 --model llama3.1-405b --tokens 15T\n"
      "  busbar cost dgx-h100:2048 --upgrade 10M --saves 5\n",
      150, 2);
}

}  // namespace busbar::questions
