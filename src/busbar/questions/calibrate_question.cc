#include "busbar/questions/calibrate_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "busbar/accuracy/calibrate.h"
#include "busbar/accuracy/step_fit.h"
#include "busbar/accuracy/summary.h"
#include "busbar/spec/calibrated.h"

namespace busbar::accuracy {

const Record& record_of(const FittedQuantity*) {
  using F = FittedQuantity;
  static const Record record(
      "quantity", {{"what", &F::what, "", "rates, latencies or the time of kernels"},
                   {"collective", &F::collective, "", "from its tables"},
                   {"several_nodes", &F::several_nodes, "", "between nodes, otherwise inside one"},
                   {"percent", &F::percent, "%", "of the expected ones"},
                   {"low_percent", &F::low_percent, "%", "nine tenths of what the tables allow are between this"},
                   {"high_percent", &F::high_percent, "%", "and this"}});
  return record;
}

const Record& record_of(const FittedFigure*) {
  using F = FittedFigure;
  static const Record record("figure", {{"what", &F::what, "", "in words"},
                                        {"keys", &F::keys, "", "of the cluster file"},
                                        {"unit", &F::unit, "", "of before and after"},
                                        {"before", &F::before, "", "as the machine has it"},
                                        {"after", &F::after, "", "as it was measured"},
                                        {"source", &F::source, "", "file, lines, and date if they state one"}});
  return record;
}

const Record& record_of(const CalibratedRow*) {
  using R = CalibratedRow;
  static const Record record("row", {{"file", &R::file, "", "its table"},
                                     {"collective", &R::collective, "", "what was measured"},
                                     {"ranks", &R::ranks, "", "that took part"},
                                     {"size_bytes", &R::size_bytes, "B", "of the call"},
                                     {"measured_us", &R::measured_us, "us", "as the table has it"},
                                     {"before_us", &R::before_us, "us", "predicted by the machine as it is"},
                                     {"after_us", &R::after_us, "us", "predicted by the fitted machine"}});
  return record;
}

}  // namespace busbar::accuracy

namespace busbar::questions {

namespace {

bool may_be_results(const std::string& word) {
  const std::filesystem::path path(word);
  std::error_code none;
  for (const char* machine : {".yaml", ".yml", ".xml"})
    if (path.extension() == machine) return false;
  return std::filesystem::exists(path, none);
}

/// Without --cluster, the last of several words is the machine unless it is a file of results.
void find_cluster(CalibrateRequest& q) {
  if (!q.measured.cluster.empty() || q.results.size() < 2 || may_be_results(q.results.back())) return;
  q.measured.cluster = q.results.back();
  q.results.pop_back();
}

/// What the files hold, the tables with the machine that each was measured on.
struct OwnMeasurements {
  std::vector<accuracy::OwnResults> tables;
  std::vector<accuracy::LinkTest> links;
  std::vector<accuracy::MeasuredStep> steps;
};

Result<OwnMeasurements> own_measurements(const CalibrateRequest& q, const Context& context) {
  OwnMeasurements out;
  for (const std::string& file : q.results) {
    BUSBAR_ASSIGN(accuracy::OwnFiles read, accuracy::read_own_files(file));
    out.links.insert(out.links.end(), read.links.begin(), read.links.end());
    out.steps.insert(out.steps.end(), read.steps.begin(), read.steps.end());
    for (accuracy::NamedResults& t : read.tables) {
      BUSBAR_ASSIGN(accuracy::ExpectOptions options, options_of(q.measured, t.results, context));
      options.go_on = nullptr;
      out.tables.push_back({t.file, std::move(t.results), std::move(options)});
    }
  }
  return out;
}

/// The fit, and the machine that it is of.
struct Calibrated {
  accuracy::ExpectOptions machine;
  accuracy::Calibration fit;
};

Result<Calibrated> without_steps(const CalibrateRequest& q, const OwnMeasurements& own, const Context& context) {
  if (!own.tables.empty()) {
    BUSBAR_ASSIGN(accuracy::Calibration fit, accuracy::calibrate(own.tables, own.links));
    return Calibrated{own.tables.front().options, std::move(fit)};
  }
  BUSBAR_ASSIGN(accuracy::ExpectOptions machine, options_of(q.measured, {}, context));
  BUSBAR_ASSIGN(accuracy::Calibration fit, accuracy::calibrate({}, own.links, machine));
  return Calibrated{std::move(machine), std::move(fit)};
}

/// Median errors of the steps, as predicted and with the kernels that fit.
void add_step_errors(const std::vector<accuracy::StepSeen>& steps, double time, accuracy::Calibration& out) {
  std::vector<double> before, after;
  for (const accuracy::StepSeen& s : steps) {
    before.push_back(100 * std::abs(s.predicted_s / s.measured_s - 1));
    after.push_back(100 * std::abs(accuracy::step_with_kernels(s, time) / s.measured_s - 1));
  }
  out.before_percent = accuracy::median_of(std::move(before));
  out.after_percent = accuracy::median_of(std::move(after));
}

double number_at(const Json& json, std::string_view key) {
  return json.contains(key) && json[key].is_number() ? json[key].number() : 0;
}

/// The step as the machine predicts it. Nothing of it is used if it is far off: then its line is of another job.
Result<std::optional<accuracy::StepSeen>> seen_on(const accuracy::MeasuredStep& step,
                                                  const accuracy::ExpectOptions& machine, const Context& context) {
  constexpr double kAnotherJob = 1.7;
  const bool begins = step.line.starts_with("train") || step.line.starts_with("busbar");
  BUSBAR_ASSIGN(const Json answer, trained_answer(begins ? step.line : "train " + step.line, machine,
                                                  {step.at.file, step.at.first_line, 0, "train"}, context));
  const Json& parts = answer["breakdown_s"];
  const double kernels = number_at(parts, "compute") + number_at(parts, "bubble") + number_at(parts, "optimizer");
  const double predicted = number_at(answer, "step_time_s");
  if (std::max(predicted / step.seconds, step.seconds / predicted) > kAnotherJob)
    return std::optional<accuracy::StepSeen>();
  return std::optional<accuracy::StepSeen>({step.seconds, predicted, std::max(1e-6, kernels / predicted)});
}

/// Fits the kernels of the machine to steps, after everything else.
Status add_steps(const std::vector<accuracy::MeasuredStep>& steps, const Context& context, Calibrated& out) {
  if (steps.empty() || out.fit.verdict != accuracy::CalibrationVerdict::kFits) return {};
  accuracy::ExpectOptions machine = out.machine;
  machine.overrides = {};
  machine.overrides.catalog = out.machine.overrides.catalog;
  BUSBAR_ASSIGN(machine.cluster, spec::on_one_line(out.fit.overlay));
  std::vector<accuracy::StepSeen> seen;
  std::string source;
  for (const accuracy::MeasuredStep& step : steps) {
    accuracy::CalibratedTable& row =
        out.fit.tables.emplace_back(accuracy::CalibratedTable{step.at.file, "step", 0, 0, {}});
    BUSBAR_ASSIGN(const auto one, seen_on(step, machine, context));
    if (!one) {
      row.unused.push_back({{},
                            fmt::format("{}: more than 1.7 times off the prediction: is the line of another job?",
                                        accuracy::in_words(step.at))});
      continue;
    }
    row.used = 1;
    seen.push_back(*one);
    source += (source.empty() ? "" : "; ") + accuracy::in_words(step.at);
  }
  if (seen.empty()) {
    out.fit.verdict = accuracy::CalibrationVerdict::kDoesNotFit;
    out.fit.why = out.fit.tables.back().unused.front().why;
    out.fit.overlay.clear();
    return {};
  }
  const accuracy::KernelFit fit = accuracy::fit_kernels(seen);
  out.fit.quantities.push_back({"kernels", "step", false, 100 * fit.time, 100 * fit.low, 100 * fit.high});
  std::string why = fmt::format("kernels take {:.0f} % of the expected time", 100 * fit.time);
  out.fit.why = out.fit.calls.empty() && out.fit.figures.empty() ? why : out.fit.why + ", " + why;
  if (out.fit.calls.empty() && out.fit.figures.empty()) add_step_errors(seen, fit.time, out.fit);
  BUSBAR_ASSIGN(const spec::Cluster before,
                spec::parse_cluster(out.fit.overlay, out.machine.cluster, machine.overrides));
  out.fit.overlay = spec::with_kernel_time(out.fit.overlay, before.kernel_time * fit.time, source);
  return {};
}

Result<Calibrated> calibrated(const CalibrateRequest& q, const Context& context) {
  BUSBAR_ASSIGN(const OwnMeasurements own, own_measurements(q, context));
  BUSBAR_ASSIGN(Calibrated out, without_steps(q, own, context));
  BUSBAR_RETURN_IF_ERROR(add_steps(own.steps, context, out));
  return out;
}

std::vector<UsedTable> shown(const std::vector<accuracy::CalibratedTable>& tables) {
  std::vector<UsedTable> out;
  for (const accuracy::CalibratedTable& t : tables) {
    UsedTable& shown = out.emplace_back(UsedTable{t.file, t.collective, t.ranks, t.used, {}});
    for (const accuracy::UnusedSizes& u : t.unused) shown.unused.push_back({u.size_bytes, u.why});
  }
  return out;
}

}  // namespace

Result<CalibrateResult> answer(const CalibrateRequest& asked, const Context& context) {
  CalibrateRequest q = asked;
  find_cluster(q);
  BUSBAR_ASSIGN(const Calibrated done, calibrated(q, context));
  const accuracy::Calibration& c = done.fit;
  CalibrateResult r;
  r.cluster = q.measured.cluster;
  r.before = {c.before_percent};
  r.after = {c.after_percent};
  r.share = c.share;
  r.latency_factor = c.latency;
  r.launch_us = c.launch_us;
  r.verdict = accuracy::name_of(c.verdict);
  r.why = c.why;
  r.tables = shown(c.tables);
  r.contradictions = c.contradictions;
  r.quantities = c.quantities;
  r.figures = c.figures;
  r.rows = c.rows;
  r.overlay = c.overlay;
  r.inputs_hash = inputs_hash("calibrate", asked, c.inputs);
  const bool fits = c.verdict == accuracy::CalibrationVerdict::kFits;
  r.exit_status = fits ? 0 : 1;
  if (!q.job.empty() && fits) {
    BUSBAR_ASSIGN(r.next, next_measurements(q.job, done.machine, c, context));
  }
  if (!q.overlay.empty() && fits) r.files.push_back({q.overlay, c.overlay});
  return r;
}

const Record& record_of(const CalibrateRequest*) {
  using Q = CalibrateRequest;
  std::vector<Field> measured = fields_inside(&Q::measured);
  std::erase_if(measured, [](const Field& f) { return f.name == "results"; });
  for (Field& f : measured)
    if (f.name == "cluster") f.word = Field::Word::kNo;
  static const Record record(
      "calibrate request",
      joined({{Field("results", &Q::results, "",
                     "outputs of nccl-tests or rccl-tests, CSVs with size_bytes and time_us, outputs of "
                     "p2pBandwidthLatencyTest or perftest, CSVs with the columns train (a line of train) and "
                     "step_time_s, of one "
                     "machine; or folders or archives of them")
                   .takes("RESULTS")
                   .as_word()},
              measured,
              {Field("overlay", &Q::overlay, "", "write the fitted machine as a cluster file")
                   .spelled("--out,--overlay")
                   .takes("FILE")
                   .of("Output")
                   .undecided(),
               Field("job", &Q::job, "",
                     "also say what to measure next: the table that narrows this answer most; without the machine")
                   .spelled("--for")
                   .takes("TRAIN-LINE")
                   .of("Output")}}));
  return record;
}

const Record& record_of(const UnusedPart*) {
  static const Record record("unused", {{"size_bytes", &UnusedPart::size_bytes, "B", "sizes; none: the whole table"},
                                        {"why", &UnusedPart::why, "", "in words"}});
  return record;
}

const Record& record_of(const UsedTable*) {
  using U = UsedTable;
  static const Record record("table",
                             {{"file", &U::file, "", "where it is from"},
                              {"collective", &U::collective, "", "what was measured; the name of a test of links"},
                              {"ranks", &U::ranks, "", "0: the machine has not so many"},
                              {"sizes", &U::sizes, "", "number of sizes, or of figures, that are used"},
                              {"unused", &U::unused, "", "sizes that are not used"}});
  return record;
}

const Record& record_of(const MedianError*) {
  static const Record record("error",
                             {{"median_abs_percent", &MedianError::median_abs_percent, "%", "of the predictions"}});
  return record;
}

const Record& record_of(const CalibrateResult*) {
  using R = CalibrateResult;
  static const Record record(
      "calibrate", {{"cluster", &R::cluster, "", "the machine as named"},
                    {"before", &R::before, "", "error of the machine as it is"},
                    {"after", &R::after, "", "error of the fitted machine"},
                    {"share", &R::share, "", "measured rates, relative to the expected ones"},
                    {"latency_factor", &R::latency_factor, "", "measured latencies, relative to the expected ones"},
                    {"launch_us", &R::launch_us, "us", "expected time before the first byte"},
                    {"verdict", &R::verdict, "", "whether the machine fits"},
                    {"why", &R::why, "", "in words"},
                    {"tables", &R::tables, "", "what was used of each table"},
                    {"contradictions", &R::contradictions, "", "sizes of one call for which tables differ"},
                    {"quantities", &R::quantities, "", "what the tables say about the machine"},
                    {"figures", &R::figures, "", "what tests of links say about the machine"},
                    {"rows", &R::rows, "", "sizes that were used, measured and predicted"},
                    {"next", &R::next, "", "tables that narrow the answer of --for, the best first"},
                    {"overlay", &R::overlay, "", "the fitted machine as a cluster file; empty: it does not fit"},
                    {"inputs_hash", &R::inputs_hash, "", "of everything that the result depends on"}});
  return record;
}

Question calibrate_question() {
  return make_question<CalibrateRequest, CalibrateResult>(
      "calibrate", "fit a machine to measured results, or report that it is broken",
      "  busbar calibrate all_reduce.txt all_gather.txt --cluster dgx-h100:2 --out mine.yaml\n"
      "  busbar calibrate p2p.txt ib_write_bw.txt all_reduce.txt --cluster dgx-h100:2 --out mine.yaml\n"
      "  busbar calibrate steps.csv --cluster dgx-h100:16 --out mine.yaml\n"
      "  busbar collective mine.yaml all_reduce\n"
      "  busbar calibrate all_reduce.txt --cluster dgx-h100:2 --for \"train --model llama3.1-8b --tp 8\"\n",
      130);
}

}  // namespace busbar::questions
