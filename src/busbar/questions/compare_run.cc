#include "busbar/questions/compare_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "busbar/plan/default_plan.h"
#include "busbar/plan/layout_flags.h"
#include "busbar/step/machine.h"

namespace busbar::questions {
namespace {

Error about(Error error, const std::string& machine) {
  if (error.where.prefix().empty()) error.message = fmt::format("{}: {}", machine, error.message);
  return error;
}

/// An error of a change, which here is a variant.
Error of_variant(Error error) {
  if (error.where.path == "--beside") error.where.path = "variant";
  if (const std::size_t at = error.message.find("(with --beside"); at != std::string::npos)
    error.message.replace(at, 14, "(with --variant");
  return error;
}

Status add_machine(const std::string& typed, const CompareAsk& ask, std::vector<CompareVariant>& out) {
  std::string name = typed;
  spec::Overrides overrides = ask.input.overrides;
  const auto of_step = std::stable_partition(overrides.set.begin(), overrides.set.end(), [](const std::string& set) {
    return !set.starts_with("layout.") && !set.starts_with("model.");
  });
  const std::vector<std::string> step_keys(of_step, overrides.set.end());  // which no machine has
  overrides.set.erase(of_step, overrides.set.end());
  BUSBAR_RETURN_IF_ERROR(step::take_servers(ask.gpus, name, overrides));
  std::vector<spec::FabricWord> fabrics(1);
  if (!ask.fabrics.empty()) {
    BUSBAR_ASSIGN(const spec::Cluster own, step::load_machine(name, overrides));
    const BytesPerSecond port = spec::port_rate(own.topology);
    if (per_second(port) == 0)
      return invalid(fmt::format("{} has no network between servers; give it a size, such as {}:2", name, typed),
                     {"", 0, 0, "fabrics"});
    BUSBAR_ASSIGN(fabrics, spec::read_fabric_words(ask.fabrics, port, spec::Catalog(ask.input.overrides.catalog)));
  }
  if (ask.shapes > 0) {
    BUSBAR_ASSIGN(const spec::Cluster own, step::load_machine(name, overrides));
    BUSBAR_ASSIGN(fabrics, spec::torus_shapes(own, ask.shapes));
  }
  for (const spec::FabricWord& fabric : fabrics) {
    step::TrainInput input = ask.input;
    input.flags.cluster = name;
    input.overrides = overrides;
    input.overrides.set.insert(input.overrides.set.end(), step_keys.begin(), step_keys.end());
    for (std::string& setting : fabric.settings()) input.overrides.set.push_back(std::move(setting));
    // Packets say what paths by hash cost, so fluids must not count it too.
    if (fabric.packets) input.overrides.set.emplace_back("fabric.routing=spray");
    std::vector<step::TrainVariant> steps(1);
    if (ask.has_model()) {
      Result<std::vector<step::TrainVariant>> read = step::read_variants(input, ask.changes);
      if (!read.ok()) return of_variant(read.error());
      steps = std::move(*read);
    }
    for (step::TrainVariant& step : steps) out.push_back({name, fabric, input.overrides, std::move(step)});
  }
  return {};
}

/// A layout for all steps on one machine, found on its first.
Result<workload::LayoutSpec> find_layout(const step::TrainRun& first, std::uint32_t gpus,
                                         const busbar::Context& context) {
  return plan::plan_briefly(first, gpus, {kComparePlanTimed}, [&] { return !context.stopped(); });
}

/// The layout that `busbar train` takes where none is given. `row.planned`: whether it was searched for.
Result<workload::LayoutSpec> layout_of_train(CompareRow& row, const busbar::Context& context) {
  BUSBAR_ASSIGN(plan::DefaultPlan plan, plan::plan_default(row.run, context));
  row.planned = !plan.because.empty();
  if (plan.none_fits) return find_layout(row.run, row.run.gpus, context);  // its error
  return std::move(plan.layout);
}

/// The step again, as `busbar train --transport` runs it.
Result<TransportRange> transport_range(const step::TrainRun& run, const std::string& transport, step::TrainAsk ask) {
  const double step_s = run.step.step_time.in_s();
  TransportRange out{{}, step_s, step_s};
  if (transport.empty()) return out;
  ask.transport = transport;
  ask.timeline = ask.scaling = ask.relief = false;
  Result<step::TrainRun> opened = step::open_train(run.scenario, ask);
  if (!opened.ok() && opened.error().code == ErrorCode::kNotFound) return out;  // no penalties for these routes
  BUSBAR_ASSIGN(step::TrainRun slowed, std::move(opened));
  slowed.layout = run.layout;
  BUSBAR_RETURN_IF_ERROR(step::predict_train(slowed, ask));
  const double mean_s = slowed.step.step_time.in_s(), p99_s = slowed.p99.in_s();
  out.penalty = slowed.machine->policy().penalty;
  out.low_s = std::min({step_s, mean_s, p99_s});
  out.high_s = std::max({step_s, mean_s, p99_s});
  return out;
}

void price_tokens(CompareRow& row) {
  constexpr double kMillion = 1e6;
  const cost::WorkCost cost = cost::cost_of_tokens(row.cost.rate, kMillion, row.tokens_per_s());
  row.usd_per_million_tokens_low = cost.usd.low;
  row.usd_per_million_tokens_high = cost.usd.high;
}

/// Runs the variants of one command one after another.
class CompareRunner {
 public:
  CompareRunner(const CompareAsk& ask, spec::PriceList prices) : ask_(ask), prices_(std::move(prices)) {}

  Result<CompareRow> run(CompareVariant variant, const busbar::Context& context) {
    CompareRow row;
    spec::Scenario scenario = variant.step.scenario;
    const bool given = plan::names_a_layout(scenario.layout) || !ask_.input.flags.layout.empty();
    step::TrainAsk ask = ask_.train;
    ask.gpus = ask_.gpus;
    ask.fold = variant.step.fold;
    BUSBAR_ASSIGN(row.run, step::open_train(std::move(scenario), ask));
    const std::uint32_t gpus = row.run.gpus;
    workload::LayoutSpec& layout = row.run.scenario.layout;
    if (layout.batch.global == 0) layout.batch.global = batch_, layout.batch.basis = basis_;
    if (given) {
      BUSBAR_ASSIGN(row.run.layout, workload::resolve_layout(layout, row.run.scenario.model, gpus));
    } else {
      row.planned = true;
      auto known = planned_.find(variant.machine);
      if (known == planned_.end()) {
        BUSBAR_ASSIGN(workload::LayoutSpec found,
                      ask_.as_train ? layout_of_train(row, context) : find_layout(row.run, gpus, context));
        known = planned_.emplace(variant.machine, std::move(found)).first;
      }
      row.run.layout = layout = known->second;
    }
    if (batch_ == 0) batch_ = row.run.layout.batch.global, basis_ = row.run.layout.batch.basis;
    BUSBAR_RETURN_IF_ERROR(step::predict_train(row.run, ask));
    BUSBAR_ASSIGN(row.transport, transport_range(row.run, variant.fabric.transport, ask));
    if (variant.fabric.packets) {
      BUSBAR_ASSIGN(row.packets, send_packets(*variant.fabric.packets, row.run));
      row.transport = {{}, row.packets->low_s, row.packets->high_s};
    }
    BUSBAR_ASSIGN(row.cost, machine_cost(row.run.cluster(), prices_, ask_.cost.terms));
    price_tokens(row);
    row.variant = std::move(variant);
    return row;
  }

 private:
  const CompareAsk& ask_;
  const spec::PriceList prices_;
  std::uint32_t batch_ = 0;                              ///< of the first row, where others have none
  std::string basis_;                                    ///< of that batch
  std::map<std::string, workload::LayoutSpec> planned_;  ///< by machine
};

// Two predictions for one kind of server in one layout differ only by their network. How well that part is known has
// not been measured: 2 % is an assumption (docs/models/compare.md).
constexpr double kSameServerPercent = 2;

std::string server_of(const std::string& machine) { return machine.substr(0, machine.find(':')); }

double band_of_rows(const CompareRow& a, const CompareRow& b) {
  const std::string &one = a.variant.machine, &other = b.variant.machine;
  const bool layouts = plan::layout_flags(a.run.layout) != plan::layout_flags(b.run.layout);
  return layouts && server_of(one) == server_of(other) ? a.run.band.layouts_percent
                                                       : band_of_difference(one, a.run.band, other, b.run.band);
}

}  // namespace

std::string CompareVariant::name() const {
  std::string out = machine;
  if (!fabric.word.empty()) out += ", " + fabric.word;
  if (!step.change.empty()) out += ", " + step.change;
  return out;
}

double CompareRow::tokens_per_s() const {
  return run.metrics.tokens_per_s_per_gpu * run.gpus_with_spares(run.layout.ranks());
}

double CompareRow::rent_usd(const cost::WorkCost& work) const { return run.cost.usd_per_day * work.days(); }

Result<std::vector<CompareVariant>> compare_variants(const CompareAsk& ask) {
  std::vector<CompareVariant> out;
  for (const std::string& machine : ask.machines)
    if (const Status added = add_machine(machine, ask, out); !added.ok()) return about(added.error(), machine);
  return out;
}

Result<MachineCost> machine_cost(const spec::Cluster& cluster, const spec::PriceList& prices,
                                 const cost::CostTerms& terms) {
  MachineCost out;
  BUSBAR_ASSIGN(out.bill, cost::bill_of(cluster, prices));
  out.sums = cost::sums_of(out.bill);
  out.rate = cost::machine_rate(out.bill, cost::running_cost(out.bill, out.sums, terms), terms);
  return out;
}

Result<std::vector<CompareRow>> run_compare(const CompareAsk& ask, const busbar::Context& context) {
  BUSBAR_ASSIGN(std::vector<CompareVariant> variants, compare_variants(ask));
  BUSBAR_ASSIGN(spec::PriceList prices,
                spec::PriceList::open(spec::Catalog(ask.input.overrides.catalog), ask.cost.prices));
  CompareRunner runner(ask, std::move(prices));
  std::vector<CompareRow> out;
  for (CompareVariant& v : variants) {
    if (!context.go_on("variants", out.size(), variants.size())) break;
    const std::string name = v.name();
    Result<CompareRow> row = runner.run(std::move(v), context);
    if (!row.ok() && context.stopped()) break;
    if (!row.ok()) return about(row.error(), name);
    out.push_back(std::move(*row));
  }
  context.go_on("variants", out.size(), variants.size());
  return out;
}

double band_of_difference(const std::string& machine_a, const predict::Band& a, const std::string& machine_b,
                          const predict::Band& b) {
  if (server_of(machine_a) == server_of(machine_b)) return kSameServerPercent;
  const auto half = [](const predict::Band& band) { return (band.high_percent - band.low_percent) / 2; };
  const double x = half(a), y = half(b);
  return std::max(kSameServerPercent, std::sqrt(x * x + y * y));
}

Likeness likeness(const CompareRow& a, const CompareRow& b) {
  const double one = a.run.step.step_time.in_s(), other = b.run.step.step_time.in_s();
  const double apart = 100 * (std::max(one, other) / std::min(one, other) - 1);
  const auto name = [](const CompareRow& r) {
    if (r.packets) return r.variant.fabric.word;
    return r.transport.penalty ? r.transport.penalty->transport + "-" + r.transport.penalty->balance : "";
  };
  const bool ranges_meet =
      name(a) != name(b) && a.transport.low_s <= b.transport.high_s && b.transport.low_s <= a.transport.high_s;
  if (apart >= band_of_rows(a, b) && !ranges_meet) return Likeness::kDiffers;
  const spec::Cluster &m = a.run.cluster(), &n = b.run.cluster();
  const bool same = a.variant.machine == b.variant.machine && m.fabric.kind == n.fabric.kind &&
                    m.routing == n.routing && m.fabric.oversubscription == n.fabric.oversubscription &&
                    spec::port_rate(m.topology) == spec::port_rate(n.topology) &&
                    a.run.layout.ranks() == b.run.layout.ranks();
  const bool unknown =
      (!a.transport.penalty && !a.packets) || (!b.transport.penalty && !b.packets) || (a.packets && name(a) == name(b));
  return same && unknown && a.variant.step.change == b.variant.step.change ? Likeness::kEqual : Likeness::kTie;
}

std::string letter_of(std::size_t row) {
  constexpr std::size_t kLetters = 26;
  const std::string last(1, static_cast<char>('A' + row % kLetters));
  return row < kLetters ? last : letter_of(row / kLetters - 1) + last;
}

double percent_more_time(const CompareRow& r, const CompareRow& first) {
  return 100 * (first.tokens_per_s() / r.tokens_per_s() - 1);
}

double exposed_percent(const CompareRow& r) {
  const step::Breakdown& b = r.run.step.breakdown;
  const Duration exposed = b.exposed_tp + b.exposed_dp + b.exposed_pp + b.exposed_cp + b.exposed_ep;
  return 100 * exposed.in_s() / r.run.step.step_time.in_s();
}

}  // namespace busbar::questions
