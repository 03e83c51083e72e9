#include "busbar/questions/compare_records.h"

#include <utility>

namespace busbar::questions {

const Record& record_of(const TransportResult*) {
  using T = TransportResult;
  static const Record record(
      "transport",
      joined({fields_inside(&T::penalty),
              {{"step_low_s", &T::step_low_s, "s", "the least of the step without it, at its mean, at p99"},
               {"step_high_s", &T::step_high_s, "s", "the greatest of them"}}}));
  return record;
}

const Record& record_of(const ComparedStep*) {
  using C = ComparedStep;
  static const Record record(
      "compared step",
      {{"variant", &C::variant, "", "how the row is called: A"},
       {"machine", &C::machine, "", "with its size"},
       {"fabric", &C::fabric, "", "as typed; null: its own"},
       {"change", &C::change, "", "as typed; null: none"},
       {"network", &C::network, "", "between servers"},
       {"wiring", &C::wiring, "", "of NICs on leaves: by-node, dealt, by-rail; null: one switch, or no tree"},
       {"gpus", &C::gpus, "", "of the job"},
       {"gpus_bought", &C::gpus_bought, "", "of the machine"},
       {"layout", &C::layout, "", "of the step"},
       {"layout_searched", &C::layout_searched, "", "no layout was given"},
       {"fits", &C::fits, "", "into memory"},
       {"step_time_s", &C::step_time_s, "s", "of one step: mean, with the slowest GPU"},
       {"step_time_ps", &C::step_time_ps, "ps", "the same, exactly"},
       {"balanced_step_time_s", &C::balanced_step_time_s, "s", "if all GPUs were equal"},
       {"time_percent_more", &C::time_percent_more, "%", "of a token, against the first row"},
       {"tokens_per_s", &C::tokens_per_s, "", "of all GPUs"},
       {"tokens_per_s_per_gpu", &C::tokens_per_s_per_gpu, "", "of each"},
       {"mfu", &C::mfu, "", "of the dense bf16 peak"},
       {"exposed_percent", &C::exposed_percent, "%", "of the step: communication that nothing hides"},
       {"transport", &C::transport, "", "what congestion control may change; null: no penalties are known"},
       Field("packets", &C::packets, "", "the step's own transfers sent packet by packet, which the step's time holds")
           .or_absent(),
       {"ties_with", &C::ties_with, "", "rows closer than the band of their difference"},
       {"equal_by_construction_with", &C::equal_by_construction_with, "", "rows that nothing tells apart"},
       {"capex_usd", &C::capex_usd, "USD", "of the machine; null: no price is known"},
       {"capex_low_usd", &C::capex_low_usd, "USD", "every price at its low end"},
       {"capex_high_usd", &C::capex_high_usd, "USD", "every price at its high end"},
       {"network_usd", &C::network_usd, "USD", "of the network"},
       {"complete", &C::complete, "", "every part has a price"},
       {"power_w", &C::power_w, "W", "rated"},
       {"usd_per_million_tokens_low", &C::usd_per_million_tokens_low, "USD", "for the owner; null: a price is missing"},
       {"usd_per_million_tokens_high", &C::usd_per_million_tokens_high, "USD", "for the owner"},
       {"rent_usd_per_million_tokens", &C::rent_usd_per_million_tokens, "USD", "null: it is not rented"},
       {"kwh_per_million_tokens", &C::kwh_per_million_tokens, "kWh", "null: a power is not known"},
       {"command", &C::command, "", "that gives this step; null: none does"},
       {"breakdown_s", &C::breakdown_s, "s", "parts that sum to the step"},
       Field("whole_run", &C::whole_run, "", "of all tokens asked for").or_absent(),
       {"band_percent", &C::band_percent, "%", "low and high, around the step's time"},
       {"band_basis", &C::band_basis, "", "what the band is measured on"}});
  return record;
}

const Record& record_of(const CompareSteps*) {
  using C = CompareSteps;
  static const Record record("compare steps",
                             {{"model", &C::model, "", "its name"},
                              {"global_batch", &C::global_batch, "", "sequences per step"},
                              {"global_batch_basis", &C::global_batch_basis, "", "given, or why it was taken"},
                              {"engine", &C::engine, "", "flow or analytic"},
                              {"usd_per_kwh", &C::usd_per_kwh, "USD/kWh", "price of electricity"},
                              {"pue", &C::pue, "", "power of the building over that of the machine"},
                              {"years", &C::years, "years", "over which the purchase is spread"},
                              {"inputs_hash", &C::inputs_hash, "", "of everything that the answer depends on"},
                              {"rows", &C::rows, "", "one per machine, fabric and change"},
                              {"complete", &C::complete, "", "no signal ended the rows early"}});
  return record;
}

const Record& record_of(const CrossingRow*) {
  using C = CrossingRow;
  static const Record record("tried", {{"value", &C::value, "", "of the key"},
                                       {"tokens_per_s", &C::tokens_per_s, "", "of the machine with it"}});
  return record;
}

const Record& record_of(const CrossingResult*) {
  using C = CrossingResult;
  static const Record record("crossing",
                             {{"key", &C::key, "", "that grows"},
                              {"unit", &C::unit, "", "of its values"},
                              {"machine", &C::machine, "", "whose key it is"},
                              {"gpus", &C::gpus, "", "of it"},
                              {"against", &C::against, "", "the other machine"},
                              {"against_gpus", &C::against_gpus, "", "of it"},
                              {"against_tokens_per_s", &C::against_tokens_per_s, "", "of all its GPUs"},
                              {"value", &C::value, "", "the least at which it is as fast; null: there is none"},
                              {"answer", &C::answer, "", "one sentence for people"},
                              {"rows", &C::rows, "", "values that were tried, ascending"}});
  return record;
}

const Record& record_of(const CompareCrossing*) {
  using C = CompareCrossing;
  static const Record record("compare crossing",
                             {{"crossing", &C::crossing, "", "where one machine catches up with the other"},
                              {"engine", &C::engine, "", "flow or analytic"},
                              {"inputs_hash", &C::inputs_hash, "", "of everything that the answer depends on"},
                              {"complete", &C::complete, "", "no signal ended the search early"}});
  return record;
}

const Record& record_of(const ComparedCall*) {
  using C = ComparedCall;
  static const Record record("compared call",
                             {{"machine", &C::machine, "", "with its size"},
                              {"fabric", &C::fabric, "", "as typed; null: its own"},
                              {"gpus", &C::gpus, "", "that take part"},
                              {"asked_algorithm", &C::asked_algorithm, "", "auto, ring, ..."},
                              {"size_bytes", &C::size_bytes, "bytes", "of the call"},
                              Field("refused", &C::refused, "", "why there is no time").or_absent(),
                              Field("time_us", &C::time_us, "us", "of the call").or_absent(),
                              Field("busbw_GBps", &C::busbw_GBps, "GB/s", "as nccl-tests counts it").or_absent(),
                              Field("how", &C::how, "", "algorithm and protocol").or_absent(),
                              Field("limit", &C::limit, "", "what bounds it over even paths").or_absent(),
                              Field("packets", &C::packets, "", "its transfers sent packet by packet").or_absent(),
                              Field("capex_usd", &C::capex_usd, "USD", "null: a price is missing").or_absent(),
                              Field("power_w", &C::power_w, "W", "of the machine").or_absent(),
                              Field("band_percent", &C::band_percent, "%", "low and high, around the time").or_absent(),
                              Field("band_basis", &C::band_basis, "", "what the band is measured on").or_absent()});
  return record;
}

const Record& record_of(const CompareCalls*) {
  using C = CompareCalls;
  static const Record record("compare calls",
                             {{"collective", &C::collective, "", "the operation"},
                              {"engine", &C::engine, "", "flow or analytic"},
                              {"inputs_hash", &C::inputs_hash, "", "of everything that the answer depends on"},
                              {"rows", &C::rows, "", "one per machine, fabric, algorithm and size"},
                              {"complete", &C::complete, "", "no signal ended the rows early"}});
  return record;
}

const Record& record_of(const ComparedLink*) {
  using C = ComparedLink;
  static const Record record("compared link",
                             {{"name", &C::name, "", "in words"},
                              {"entry", &C::entry, "", "of the catalogue"},
                              {"year", &C::year, "", "of its first product"},
                              {"lanes", &C::lanes, "", "of a GPU"},
                              {"GBps_per_direction", &C::GBps_per_direction, "GB/s", "before encoding"},
                              {"GBps_both_directions", &C::GBps_both_directions, "GB/s", "twice that"},
                              {"copies_GBps", &C::copies_GBps, "GB/s", "that copies reach; null: not measured"},
                              {"times_pcie5_x16", &C::times_pcie5_x16, "", "of 16 lanes of PCIe 5"}});
  return record;
}

const Record& record_of(const CompareLinks*) {
  using C = CompareLinks;
  static const Record record("compare links", {{"of", &C::of, "", "links"},
                                               {"rows", &C::rows, "", "links and memories"},
                                               {"inputs_hash", &C::inputs_hash, "", "of the request"}});
  return record;
}

const Record& record_of(const ComparedOptics*) {
  using C = ComparedOptics;
  static const Record record("compared optics", {{"name", &C::name, "", "of the catalogue"},
                                                 {"medium", &C::medium, "", "copper or fibre"},
                                                 {"rate_Gbps", &C::rate_Gbps, "Gb/s", "of one end"},
                                                 {"reach_m", &C::reach_m, "m", "the longest cable"},
                                                 {"power_w", &C::power_w, "W", "of one end; null: not public"},
                                                 {"pj_per_bit", &C::pj_per_bit, "pJ/bit", "of one end"},
                                                 {"sold_as", &C::sold_as, "", "cable or end"},
                                                 {"usd_low", &C::usd_low, "USD", "null: no price is known"},
                                                 {"usd_high", &C::usd_high, "USD", "null: no price is known"}});
  return record;
}

const Record& record_of(const CompareOptics*) {
  using C = CompareOptics;
  static const Record record("compare optics", {{"of", &C::of, "", "optics"},
                                                {"rows", &C::rows, "", "by energy per bit"},
                                                {"inputs_hash", &C::inputs_hash, "", "of the request"}});
  return record;
}

namespace {

std::optional<std::string> if_any(const std::string& text) { return text.empty() ? std::nullopt : std::optional(text); }
std::optional<double> if_true(bool known, double value) { return known ? std::optional(value) : std::nullopt; }

/// The names of the rows before `i` that it cannot be told from.
std::vector<std::string> rows_alike(const std::vector<CompareRow>& rows, std::size_t i, Likeness how) {
  std::vector<std::string> out;
  for (std::size_t k = 0; k < i; ++k)
    if (likeness(rows[k], rows[i]) == how) out.push_back(letter_of(k));
  return out;
}

void take_money(const CompareRow& r, ComparedStep& out) {
  const cost::BillSums& sums = r.cost.sums;
  const bool priced = sums.all.high > 0;
  const double rent = r.run.cost.usd_per_million_tokens;
  out.gpus_bought = r.cost.bill.gpus;
  out.capex_usd = if_true(priced, sums.all.middle());
  out.capex_low_usd = if_true(priced, sums.all.low);
  out.capex_high_usd = if_true(priced, sums.all.high);
  out.network_usd = if_true(priced, sums.network.middle());
  out.complete = sums.complete();
  out.power_w = sums.power_w;
  out.usd_per_million_tokens_low = if_true(sums.complete(), r.usd_per_million_tokens_low);
  out.usd_per_million_tokens_high = if_true(sums.complete(), r.usd_per_million_tokens_high);
  out.rent_usd_per_million_tokens = if_true(rent > 0, rent);
  out.kwh_per_million_tokens =
      if_true(sums.unpowered.empty(), cost::cost_of_tokens(r.cost.rate, 1e6, r.tokens_per_s()).kwh);
}

ComparedStep compared_step(const std::vector<CompareRow>& rows, std::size_t i, double tokens) {
  const CompareRow& r = rows[i];
  const step::TrainRun& run = r.run;
  ComparedStep out;
  out.variant = letter_of(i);
  out.machine = r.variant.machine;
  out.fabric = if_any(r.variant.fabric.word);
  out.change = if_any(r.variant.step.change);
  out.network = if_any(run.cluster().fabric.network);
  out.wiring = if_any(run.cluster().fabric.wiring);
  out.gpus = run.layout.ranks();
  out.layout = layout_result(run.layout);
  out.layout_searched = r.planned;
  out.fits = !run.does_not_fit;
  out.step_time_s = run.step.step_time.in_s();
  out.step_time_ps = run.step.step_time.in_ps();
  out.balanced_step_time_s = run.step.balanced.in_s();
  out.time_percent_more = percent_more_time(r, rows[0]);
  out.tokens_per_s = r.tokens_per_s();
  out.tokens_per_s_per_gpu = run.metrics.tokens_per_s_per_gpu;
  out.mfu = run.metrics.mfu;
  out.exposed_percent = exposed_percent(r);
  if (const auto& penalty = r.transport.penalty)
    out.transport = TransportResult{penalty_result(*penalty), r.transport.low_s, r.transport.high_s};
  out.packets = r.packets;
  out.ties_with = rows_alike(rows, i, Likeness::kTie);
  out.equal_by_construction_with = rows_alike(rows, i, Likeness::kEqual);
  take_money(r, out);
  out.breakdown_s = step_seconds(run.step.breakdown);
  out.whole_run = whole_run(r, tokens);
  out.band_percent = {run.band.low_percent, run.band.high_percent};
  out.band_basis = run.band.basis;
  return out;
}

}  // namespace

CompareSteps steps_result(std::vector<CompareRow> rows, double tokens) {
  CompareSteps out;
  const step::TrainRun& first = rows[0].run;
  out.model = first.scenario.model.name;
  out.global_batch = first.layout.batch.global;
  out.global_batch_basis = first.layout.batch.basis.empty() ? "given" : first.layout.batch.basis;
  for (std::size_t i = 0; i < rows.size(); ++i) out.rows.push_back(compared_step(rows, i, tokens));
  out.found = std::move(rows);
  out.tokens = tokens;
  return out;
}

CrossingResult crossing_result(const MachineCrossing& c) {
  CrossingResult out;
  out.key = c.ask.key;
  out.unit = c.ask.unit;
  out.machine = c.slow;
  out.gpus = c.slow_gpus;
  out.against = c.fast;
  out.against_gpus = c.fast_gpus;
  out.against_tokens_per_s = c.fast_tokens_per_s;
  out.value = if_true(c.found, c.value);
  out.answer = crossing_words(c);
  for (const CrossingPoint& p : c.tried) out.rows.push_back({p.value, p.tokens_per_s});
  return out;
}

CompareCalls calls_result(std::vector<CallRow> rows, CallsAsk asked) {
  CompareCalls out;
  out.collective = collectives::name_of(asked.op);
  for (const CallRow& r : rows) {
    ComparedCall& c = out.rows.emplace_back();
    c.machine = r.machine;
    c.fabric = if_any(r.fabric);
    c.gpus = r.gpus;
    c.asked_algorithm = r.algorithm;
    c.size_bytes = count(r.size);
    c.refused = if_any(r.refused);
    if (c.refused) continue;
    c.time_us = r.time_s * 1e6;
    c.busbw_GBps = r.busbw;
    c.how = r.how;
    c.limit = r.limit;
    c.packets = r.packets;
    c.capex_usd.emplace(if_true(r.capex_usd > 0, r.capex_usd));
    c.power_w = r.power_w;
    c.band_percent = {r.band.low_percent, r.band.high_percent};
    c.band_basis = r.band.basis;
  }
  out.found = std::move(rows);
  out.asked = std::move(asked);
  return out;
}

CompareLinks links_result(const std::vector<spec::LinkRow>& rows) {
  constexpr double kGigabyte = 1e9;
  CompareLinks out;
  for (const spec::LinkRow& r : rows) {
    const double rate = r.bytes_per_s / kGigabyte;
    out.rows.push_back({r.name, r.entry, r.year, r.lanes, rate, 2 * r.bytes_per_s / kGigabyte,
                        if_true(r.efficiency > 0, r.bytes_per_s * r.efficiency / kGigabyte), r.times_pcie5});
  }
  return out;
}

CompareOptics optics_result(const std::vector<spec::OpticsRow>& rows) {
  constexpr double kGigabit = 1e9;
  CompareOptics out;
  for (const spec::OpticsRow& r : rows) {
    ComparedOptics& o = out.rows.emplace_back();
    o.name = r.name;
    o.medium = r.medium;
    o.rate_Gbps = r.bits_per_s / kGigabit;
    o.reach_m = r.reach_m;
    o.power_w = r.power_w;
    if (r.power_w) o.pj_per_bit = r.pj_per_bit();
    o.sold_as = r.cable ? "cable" : "end";
    if (r.usd) o.usd_low = r.usd->low, o.usd_high = r.usd->high;
  }
  return out;
}

}  // namespace busbar::questions
