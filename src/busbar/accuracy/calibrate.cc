#include "busbar/accuracy/calibrate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "busbar/accuracy/results_meaning.h"
#include "busbar/accuracy/summary.h"
#include "busbar/base/quantity.h"
#include "busbar/spec/calibrated.h"

namespace busbar::accuracy {
namespace {

constexpr double kBrokenLatency = 1.6, kBrokenUs = 100;

/// A table whose calls were modelled, by size.
struct FittedTable {
  MeasuredAt at;
  std::vector<program::MeasuredCall> calls;
};

void leave_out(std::uint64_t size, const std::string& why, CalibratedTable& out) {
  for (UnusedSizes& u : out.unused)
    if (u.why == why) return u.size_bytes.push_back(size);
  out.unused.push_back({{size}, why});
}

/// The machine without measured tables, which stay apart.
class BareMachine {
 public:
  /// A requested launch time becomes the machine's own. `set`: more keys, as --set takes them.
  Status open(const ExpectOptions& options, const std::vector<std::string>& set) {
    spec::Overrides overrides = options.overrides;
    overrides.set.insert(overrides.set.end(), set.begin(), set.end());
    if (options.policy.launch)
      overrides.set.push_back(fmt::format("protocol.launch={}ps", options.policy.launch->in_ps()));
    const Result<std::string> text = spec::cluster_text(options.cluster, overrides, measured_);
    if (!text.ok())
      return invalid(text.error().message + "; a machine is fitted by keys: name a preset or a cluster file",
                     text.error().where);
    text_ = *text;
    catalog_.catalog = options.overrides.catalog;
    return {};
  }
  /// The first GPUs, if the results say that they are of fewer ranks.
  Result<std::unique_ptr<predict::Predictor>> predictor(const OwnResults& table) const {
    BUSBAR_ASSIGN(spec::Cluster cluster, spec::parse_cluster(text_, table.options.cluster, catalog_));
    ExpectOptions options = table.options;
    options.policy.launch.reset();
    const auto all = static_cast<std::uint32_t>(cluster.topology.gpus().size());
    if (options.gpus == 0 && options.ranks.empty() && table.results.ranks < all) options.gpus = table.results.ranks;
    return predictor_on(options, std::move(cluster));
  }
  const std::string& text() const { return text_; }
  const std::vector<spec::MeasuredTable>& measured() const { return measured_; }
  /// Models the calls of the file's tables on the machine as it is now; they were modelled on other links. Without
  /// calls whose GPUs are not the first ones of the machine.
  Status model_again(const ExpectOptions& options, Calibration& out) {
    for (spec::MeasuredTable& t : measured_) {
      OwnResults own{t.source, {}, options};
      own.results.ranks = t.calls.front().call.ranks;
      BUSBAR_ASSIGN(const std::unique_ptr<predict::Predictor> machine, predictor(own));
      CalibratedTable row{t.source, collectives::name_of(t.calls.front().call.op), machine->ranks(), 0, {}};
      std::vector<program::MeasuredCall> again;
      for (const program::MeasuredCall& c : t.calls) {
        const auto bytes = static_cast<std::uint64_t>(c.call.bytes);
        BUSBAR_ASSIGN(
            const predict::Prediction p,
            machine->time(predict::call_over(c.call.op, Bytes{bytes}, machine->ranks()), predict::kTimeAlone));
        if (p.traits.ranks == c.call.ranks && p.traits.several_nodes == c.call.several_nodes)
          again.push_back({p.traits, c.us, p.time.in_us()});
        else
          leave_out(bytes, "the file does not say which GPUs it was measured on; give the table again", row);
      }
      row.used = again.size();
      t.calls = std::move(again);
      out.tables.push_back(std::move(row));
    }
    std::erase_if(measured_, [](const spec::MeasuredTable& t) { return t.calls.empty(); });
    return {};
  }

 private:
  std::string text_;
  spec::Overrides catalog_;
  std::vector<spec::MeasuredTable> measured_;
};

/// Whether the size took far longer, or far shorter, than the sizes around it would make likely.
bool is_odd(const std::vector<program::MeasuredCall>& calls, std::size_t i) {
  constexpr double kOdd = 1.5;
  if (i == 0 || i + 1 >= calls.size()) return false;
  const auto took = [&](std::size_t k) { return calls[k].us / calls[k].modelled_us; };
  const auto [low, high] = std::minmax({took(i - 1), took(i + 1)});
  return took(i) > kOdd * high || took(i) * kOdd < low;
}

Result<std::vector<program::MeasuredCall>> modelled(const OwnResults& table, predict::Predictor& machine,
                                                    CalibratedTable& out) {
  constexpr double kRounding = 0.005;  // tables print four figures
  std::vector<program::MeasuredCall> calls, sound;
  for (const MeasuredResult& m : table.results.rows) {
    const program::CollectiveCall call = predict::call_over(table.options.op, Bytes{m.size_bytes}, machine.ranks());
    const floors::Floor floor = machine.floor(call);
    if (m.us < floor.time.in_us() * (1 - kRounding)) {
      leave_out(m.size_bytes, fmt::format("faster than physics allows this machine ({})", floor.cut), out);
      continue;
    }
    BUSBAR_ASSIGN(const predict::Prediction p, machine.time(call, predict::kTimeAlone));
    calls.push_back({p.traits, m.us, p.time.in_us()});
  }
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (is_odd(calls, i))
      leave_out(static_cast<std::uint64_t>(calls[i].call.bytes), "more than 1.5 times off the sizes around it", out);
    else
      sound.push_back(calls[i]);
  out.used = sound.size();
  return sound;
}

/// Median of measured / modelled over the calls that bytes bound (or do not bound); 1: there is none.
double took(const std::vector<program::MeasuredCall>& calls, bool bytes) {
  constexpr double kMostly = 0.7;
  std::vector<double> list;
  for (const program::MeasuredCall& c : calls)
    if (bytes ? c.call.bytes_share >= kMostly : c.call.bytes_share <= 1 - kMostly) list.push_back(c.us / c.modelled_us);
  return list.empty() ? 1 : median_of(std::move(list));
}

/// Empty: the table is of a sound machine.
std::string why_broken(const FittedTable& t) {
  const double rates = 1 / took(t.calls, true), latencies = took(t.calls, false);
  const double more_us = t.calls.front().us - t.calls.front().modelled_us;
  if (rates < kBrokenRate)
    return fmt::format("rates are {:.0f} % of what this machine gives when it is well; find the fault first",
                       rates * 100);
  if (latencies > kBrokenLatency && more_us > kBrokenUs)
    return fmt::format("small sizes take {:.0f} us longer than they should; find the fault first", more_us);
  return {};
}

bool same_call(const program::CallTraits& a, const program::CallTraits& b) {
  return a.op == b.op && a.ranks == b.ranks && a.several_nodes == b.several_nodes && a.bytes == b.bytes;
}

void add_contradictions(const std::vector<FittedTable>& tables, Calibration& out) {
  for (std::size_t a = 0; a < tables.size(); ++a)
    for (std::size_t b = a + 1; b < tables.size(); ++b)
      for (const program::MeasuredCall& x : tables[a].calls)
        for (const program::MeasuredCall& y : tables[b].calls)
          if (same_call(x.call, y.call) && std::max(x.us, y.us) > kMostApart * std::min(x.us, y.us))
            out.contradictions.push_back(fmt::format("{} of {} over {} ranks: {:.4g} us in {}, {:.4g} us in {}",
                                                     collectives::name_of(x.call.op),
                                                     format_binary_size(static_cast<std::uint64_t>(x.call.bytes)),
                                                     x.call.ranks, x.us, tables[a].at.file, y.us, tables[b].at.file));
}

/// The tables of the file without calls that were measured again, then the new ones.
std::vector<spec::MeasuredTable> all_tables(const std::vector<spec::MeasuredTable>& old,
                                            const std::vector<FittedTable>& fitted) {
  std::vector<spec::MeasuredTable> out;
  const auto again = [&](const program::MeasuredCall& m) {
    for (const FittedTable& t : fitted)
      for (const program::MeasuredCall& c : t.calls)
        if (same_call(m.call, c.call)) return true;
    return false;
  };
  for (spec::MeasuredTable t : old) {
    std::erase_if(t.calls, again);
    if (!t.calls.empty()) out.push_back(std::move(t));
  }
  for (const FittedTable& t : fitted) out.push_back({t.at.file, t.calls, t.at.first_line, t.at.last_line, t.at.date});
  return out;
}

std::vector<program::MeasuredCall> calls_of(const std::vector<spec::MeasuredTable>& tables) {
  std::vector<program::MeasuredCall> out;
  for (const spec::MeasuredTable& t : tables) out.insert(out.end(), t.calls.begin(), t.calls.end());
  return out;
}

std::vector<CalibratedRow> rows_of(const std::vector<FittedTable>& tables, const program::MeasuredCalls* before,
                                   const program::MeasuredCalls& after) {
  std::vector<CalibratedRow> out;
  for (const FittedTable& t : tables)
    for (const program::MeasuredCall& c : t.calls) {
      const auto as_predicted = [&](const program::MeasuredCalls* known) {
        return c.modelled_us * (known == nullptr ? 1 : std::exp(known->ln_factor(c.call)));
      };
      out.push_back({t.at.file, collectives::name_of(c.call.op), c.call.ranks, static_cast<std::uint64_t>(c.call.bytes),
                     c.us, as_predicted(before), as_predicted(&after)});
    }
  return out;
}

double median_off(const std::vector<CalibratedRow>& rows, double CalibratedRow::*predicted) {
  std::vector<double> errors;
  for (const CalibratedRow& r : rows) errors.push_back(100 * std::abs(r.*predicted / r.measured_us - 1));
  return errors.empty() ? 0 : median_of(std::move(errors));
}

/// `sign`: a factor on times is one on latencies, and its inverse is one on rates.
FittedQuantity quantity(const char* what, const program::CallTraits& of, const program::MeasuredCalls::Quantity& q,
                        double sign) {
  constexpr double kNineTenths = 1.645;
  const auto percent = [&](double sigmas) { return 100 * std::exp(sign * q.ln_factor + sigmas * q.sigma); };
  return {what, collectives::name_of(of.op), of.several_nodes, percent(0), percent(-kNineTenths), percent(kNineTenths)};
}

void add_quantities(const std::vector<FittedTable>& tables, const program::MeasuredCalls& known, Calibration& out) {
  std::map<std::pair<bool, collectives::Collective>, program::CallTraits> of;
  for (const FittedTable& t : tables) {
    const program::CallTraits& c = t.calls.front().call;
    of[{c.several_nodes, c.op}] = c;
  }
  for (const auto& [key, c] : of) {
    out.quantities.push_back(quantity("rates", c, known.rates(c.op, c.ranks, c.several_nodes), -1));
    out.quantities.push_back(quantity("latencies", c, known.latencies(c.op, c.ranks, c.several_nodes), 1));
  }
}

Calibration does_not_fit(Calibration out) {
  out.verdict = CalibrationVerdict::kDoesNotFit;
  out.why = "no size can be used";
  for (const CalibratedTable& t : out.tables)
    if (!t.unused.empty()) out.why = fmt::format("{}: {}: is it another machine?", t.file, t.unused.front().why);
  return out;
}

/// Models each table. Error: none can be of the machine.
Result<std::vector<FittedTable>> model_tables(const std::vector<OwnResults>& tables, const BareMachine& bare,
                                              Calibration& out) {
  std::vector<FittedTable> fitted;
  std::optional<Error> refused;
  for (const OwnResults& t : tables) {
    CalibratedTable& row =
        out.tables.emplace_back(CalibratedTable{t.file, collectives::name_of(t.options.op), 0, 0, {}});
    const Result<std::unique_ptr<predict::Predictor>> machine = bare.predictor(t);
    Status same = machine.ok() ? check_ranks(t.results, **machine) : Status(machine.error());
    if (same.ok()) same = check_product(t.results, (*machine)->cluster(), t.options.overrides.catalog);
    if (!same.ok()) {
      if (!refused) refused = same.error();
      row.unused.push_back({{}, same.error().message});
      continue;
    }
    row.ranks = (*machine)->ranks();
    out.inputs += (*machine)->cluster().text;
    out.launch_us = (*machine)->protocol().launch.in_us();
    BUSBAR_ASSIGN(std::vector<program::MeasuredCall> calls, modelled(t, **machine, row));
    MeasuredAt at = t.results.at;
    at.file = t.file;
    if (!calls.empty()) fitted.push_back({std::move(at), std::move(calls)});
  }
  if (refused && std::all_of(out.tables.begin(), out.tables.end(), [](const auto& t) { return t.ranks == 0; }))
    return *refused;
  return fitted;
}

/// Tables whose rates are far from those that tests of the links on their way give.
void compare_with_links(const std::vector<FittedTable>& tables, const LinkFit& links, Calibration& out) {
  for (const FittedTable& t : tables) {
    const char* const way = t.calls.front().call.several_nodes ? "rate of a NIC" : " between GPUs";
    const double rates = 1 / took(t.calls, true);
    if (rates < kMostApart && rates * kMostApart > 1) continue;
    for (const FittedFigure& f : links.figures)
      if (f.what.find(way) != f.what.npos)
        out.contradictions.push_back(fmt::format("{} of {} reaches {:.0f} % of the rate that it has with the {} of {}",
                                                 collectives::name_of(t.calls.front().call.op), in_words(t.at),
                                                 100 * rates, f.what, f.source));
  }
}

/// Where each fitted figure and table is from.
std::string sources_of(const LinkFit& links, const std::vector<spec::MeasuredTable>& tables) {
  std::string out = "# Fitted to measured results by busbar calibrate\n";
  for (const FittedFigure& f : links.figures)
    for (const std::string& key : f.keys) out += fmt::format("# {}: {}\n", key, f.source);
  for (const spec::MeasuredTable& t : tables)
    out += fmt::format("# measured {} over {} ranks: {}\n", collectives::name_of(t.calls.front().call.op),
                       t.calls.front().call.ranks, in_words({t.source, t.first_line, t.last_line, t.date}));
  return out;
}

/// The errors of the figures of links, where no table has any.
void add_errors(const LinkFit& links, Calibration& out) {
  std::vector<double> before;
  for (const FittedFigure& f : links.figures)
    if (f.after > 0) before.push_back(100 * std::abs(f.before / f.after - 1));
  if (!before.empty()) out.before_percent = median_of(std::move(before));
}

Status fit_tables(const std::vector<OwnResults>& tables, const LinkFit& links, const BareMachine& bare,
                  Calibration& out) {
  BUSBAR_ASSIGN(const std::vector<FittedTable> fitted, model_tables(tables, bare, out));
  const bool nothing = tables.empty() && links.tables.empty();  // steps alone
  if (fitted.empty() && links.figures.empty() && !nothing) {
    out = does_not_fit(std::move(out));
    return {};
  }
  const std::vector<spec::MeasuredTable> all = all_tables(bare.measured(), fitted);
  out.calls = calls_of(all);
  add_contradictions(fitted, out);
  compare_with_links(fitted, links, out);
  std::vector<program::MeasuredCall> calls;
  for (const FittedTable& t : fitted) calls.insert(calls.end(), t.calls.begin(), t.calls.end());
  out.share = 1 / took(calls, true);
  out.latency = took(calls, false);
  if (const auto before = spec::as_calls(bare.measured()), after = spec::as_calls(all); !fitted.empty()) {
    out.rows = rows_of(fitted, before.get(), *after);
    out.before_percent = median_off(out.rows, &CalibratedRow::before_us);
    out.after_percent = median_off(out.rows, &CalibratedRow::after_us);
    add_quantities(fitted, *after, out);
  }
  for (const FittedTable& t : fitted)
    if (std::string why = why_broken(t); !why.empty()) {
      out.verdict = CalibrationVerdict::kBroken;
      out.why = tables.size() > 1 ? t.at.file + ": " + why : why;
      return {};
    }
  out.why = fitted.empty()
                ? fmt::format("{} of links",
                              links.figures.size() == 1 ? "1 figure" : fmt::format("{} figures", links.figures.size()))
                : fmt::format("{:.0f} % of the expected rates, {:.0f} % of the latencies", out.share * 100,
                              out.latency * 100);
  out.overlay = sources_of(links, all) + bare.text() + spec::measured_yaml(all);
  return {};
}

/// Results that bands of other machines call low are named.
void name_slow(const std::vector<OwnResults>& tables, Calibration& out) {
  for (const OwnResults& t : tables) {
    const Result<Expectation> expected = expect_results(t.results, t.options);
    if (expected.ok() && expected->table.verdict == Verdict::kLow)
      out.why += fmt::format(
          "; {} slower than comparable machines: {}; the overlay takes this for normal, so look for "
          "a fault first",
          tables.size() > 1 ? t.file : "this is", expected->table.why);
  }
}

}  // namespace

const char* name_of(CalibrationVerdict verdict) {
  constexpr const char* kNames[] = {"fits", "broken machine", "does not fit"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(CalibrationVerdict::kDoesNotFit) + 1);
  return kNames[static_cast<std::size_t>(verdict)];
}

Result<Calibration> calibrate(const std::vector<OwnResults>& tables, const std::vector<LinkTest>& tests,
                              const ExpectOptions& machine) {
  const ExpectOptions& options = tables.empty() ? machine : tables.front().options;
  LinkFit links;
  if (!tests.empty()) {
    BUSBAR_ASSIGN(links, fit_links(tests, options.cluster, options.overrides));
  }
  BareMachine bare;
  BUSBAR_RETURN_IF_ERROR(bare.open(options, links.set));
  Calibration out;
  if (!links.set.empty()) BUSBAR_RETURN_IF_ERROR(bare.model_again(options, out));
  out.figures = links.figures;
  out.contradictions = links.contradictions;
  add_errors(links, out);
  BUSBAR_RETURN_IF_ERROR(fit_tables(tables, links, bare, out));
  out.tables.insert(out.tables.end(), links.tables.begin(), links.tables.end());
  if (tables.empty()) out.inputs += bare.text();
  if (!links.broken.empty()) {
    out.verdict = CalibrationVerdict::kBroken;
    out.why = links.broken;
    out.overlay.clear();
  }
  if (out.verdict == CalibrationVerdict::kDoesNotFit && tables.empty() && !out.tables.empty())
    out.why = fmt::format("{}: {}: {}", out.tables.front().file, out.tables.front().collective,
                          out.tables.front().unused.front().why);
  if (out.verdict == CalibrationVerdict::kFits) name_slow(tables, out);
  return out;
}

}  // namespace busbar::accuracy
