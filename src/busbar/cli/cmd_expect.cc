#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>

#include "busbar/accuracy/calibrate.h"
#include "busbar/accuracy/expect.h"
#include "busbar/accuracy/expect_options.h"
#include "busbar/accuracy/library_version.h"
#include "busbar/accuracy/results_meaning.h"
#include "busbar/accuracy/thresholds.h"
#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/predict_flags.h"
#include "busbar/cli/session.h"
#include "busbar/questions/fault_findings.h"
#include "busbar/questions/sweep.h"
#include "busbar/step/machine.h"
#include "busbar/views/bandwidth_charts.h"
#include "busbar/views/fault_findings.h"

namespace busbar {
namespace {

struct ExpectFlags {
  CommonOptions common;
  std::string file, cluster, op, baseline, overlay;
  PredictOptions predict;
  std::string first = "1M", last = "16G";  ///< for thresholds
  std::uint32_t gpus = 0;
  std::vector<std::string> ranks;
  double tolerance = 5, factor = 4;
  bool thresholds = false;
};

/// The flag's mode, or the file's; empty: the machine's own.
std::string launch_mode(const ExpectFlags& o, const MeasuredResults& results) {
  return o.predict.launch.empty() ? results.launch : o.predict.launch;
}

/// Without results, the operation is all-reduce unless a flag says otherwise.
Result<ExpectOptions> read_options(const ExpectFlags& o, const MeasuredResults& results) {
  Result<ExpectOptions> read =
      expect_options(o.common.overrides, o.common.engine, o.cluster, o.op, o.predict, results, o.gpus, LongRun::flag());
  if (!read.ok() && read.error().where.path == "cluster") read.error().where.path = "--cluster";
  BUSBAR_ASSIGN(ExpectOptions out, std::move(read));
  out.ranks = o.ranks;
  if (o.gpus != 0 && !o.ranks.empty()) return flag_error("--ranks", "already selects the GPUs; leave out -g");
  return out;
}

/// Collectives that acceptance tests use.
constexpr Collective kAccepted[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                    Collective::kBroadcast, Collective::kAllToAll,  Collective::kSendRecv};

Document to_document(const ExpectFlags& o, const Thresholds& found) {
  Document d{fmt::format("Acceptance of {} over {} GPUs", o.cluster, found.ranks), o.common.typed, {}};
  Table t{"Bus bandwidth to accept",
          {to_left("collective"), "size (B)", "at least (GB/s)", "expected (GB/s)", "at most (us)", "expected (us)",
           "band (%)", to_left("how"), to_left("bound by")}};
  for (const Threshold& r : found.rows)
    t.rows.push_back({name_of(r.op), std::to_string(r.size_bytes), format_number(r.least_busbw_GBps),
                      format_number(r.expected_busbw_GBps), format_number(r.most_us, 4),
                      format_number(r.expected_us, 4),
                      fmt::format("{:+.0f} to {:+.0f}", r.band.low_percent, r.band.high_percent), r.how, r.bound_by});
  t.note =
      "at least: the bus bandwidth, as nccl-tests prints it, that 95 of 100 healthy machines reach relative to their "
      "prediction; band: of the time. GB/s is 1e9 bytes per second per direction.";
  d.add(t);
  std::vector<std::string> said;
  for (const Threshold& r : found.rows)
    if (std::find(said.begin(), said.end(), r.band.basis) == said.end()) said.push_back(r.band.basis);
  for (const std::string& basis : said) d.add(Paragraph{"Band: " + basis + "."});
  return d;
}

Result<int> run_thresholds(ExpectFlags o) {
  if (o.cluster.empty()) o.cluster.swap(o.file);  // without results, the word is the machine
  if (!o.file.empty() || !o.baseline.empty())
    return flag_error("--thresholds", "takes no results and no baseline; leave them out");
  BUSBAR_ASSIGN(ExpectOptions options, read_options(o, {}));
  BUSBAR_ASSIGN(const std::vector<Bytes> sweep, sweep_sizes(o.first, o.last, o.factor));
  std::vector<std::uint64_t> sizes;
  for (const Bytes size : sweep) sizes.push_back(count(size));
  std::vector<Collective> ops(std::begin(kAccepted), std::end(kAccepted));
  if (!o.op.empty()) ops = {options.op};
  LongRun watch("rows");
  options.go_on = [&watch](std::size_t known, std::size_t all) { return watch.go_on(known, all); };
  const Result<Thresholds> found = acceptance_thresholds(options, ops, sizes);
  watch.report_interruption();
  if (!found.ok()) return found.error();
  Json j{{"schema", "busbar.expect/1"},
         {"cluster", o.cluster},
         {"engine", o.common.engine},
         {"gpus", found->ranks},
         {"rows", Json::array()}};
  add_policy(j, options.policy, o.predict.launch, found->launch);
  for (const Threshold& r : found->rows)
    j["rows"].push_back({{"collective", name_of(r.op)},
                         {"size_bytes", r.size_bytes},
                         {"least_busbw_GBps", r.least_busbw_GBps},
                         {"expected_busbw_GBps", r.expected_busbw_GBps},
                         {"most_busbw_GBps", r.most_busbw_GBps},
                         {"expected_us", r.expected_us},
                         {"low_us", r.least_us},
                         {"high_us", r.most_us},
                         {"band_percent", Json::array({r.band.low_percent, r.band.high_percent})},
                         {"band_basis", r.band.basis},
                         {"how", r.how},
                         {"bound_by", r.bound_by}});
  j["inputs_hash"] = inputs_hash(o.common, found->inputs);
  j["complete"] = !watch.interrupted();
  return deliver(o.common, j, to_document(o, *found), watch.status());
}

std::string us(double value) { return format_number(value, 4); }

Result<int> run_baseline(const ExpectFlags& o, const MeasuredResults& results) {
  BUSBAR_ASSIGN(const MeasuredResults before, read_results(o.baseline));
  BUSBAR_ASSIGN(const std::vector<ComparedRow> rows, compare_results(results, before));
  Json j{{"schema", "busbar.expect/1"},
         {"baseline", o.baseline},
         {"tolerance_percent", o.tolerance},
         {"rows", Json::array()}};
  Document d{fmt::format("{} against {}", o.file, o.baseline), o.common.typed, {}};
  Table t{d.title, {"size (B)", "now (us)", "before (us)", "change (%)", to_left("verdict")}};
  bool slower = false;
  for (const ComparedRow& r : rows) {
    const bool worse = r.change_percent() > o.tolerance;
    slower = slower || worse;
    const char* verdict = worse ? "low" : r.change_percent() < -o.tolerance ? "suspicious" : "good";
    j["rows"].push_back({{"size_bytes", r.size_bytes},
                         {"measured_us", r.measured_us},
                         {"baseline_us", r.baseline_us},
                         {"change_percent", r.change_percent()},
                         {"verdict", verdict}});
    t.rows.push_back({std::to_string(r.size_bytes), us(r.measured_us), us(r.baseline_us),
                      fmt::format("{:+.1f}", r.change_percent()), verdict});
  }
  d.add(t);
  j["verdict"] = slower ? "low" : "good";
  return deliver(o.common, j, d, slower ? 1 : 0);
}

/// "Too slow: 1 GiB reaches 206 of 464 GB/s (44 %)", and why.
std::string verdict_words(const Expectation& e, Collective op) {
  constexpr const char* kWords[] = {"Good", "Too slow", "Faster than expected", "Suspicious"};  // per Verdict
  static_assert(std::size(kWords) == static_cast<std::size_t>(Verdict::kSuspicious) + 1);
  const ExpectedRow& last = e.rows.back();
  const double bus_bytes = bus_factor(op, e.ranks) * static_cast<double>(last.size_bytes);
  const bool odd = e.table.verdict == Verdict::kGood && last.verdict != Verdict::kGood;
  const std::string why = e.table.why.empty() ? "" : "; " + e.table.why;
  return fmt::format("{}: {} reaches {} of {} GB/s ({:.0f} %){}{}.",
                     odd ? "Good except for the largest size" : kWords[static_cast<std::size_t>(e.table.verdict)],
                     format_binary_size(last.size_bytes), format_number(bus_bytes / 1e3 / last.measured_us),
                     format_number(bus_bytes / 1e3 / last.expected_us), 100 * last.expected_us / last.measured_us, why,
                     odd ? "; measure it again" : "");
}

/// The verdict, the threshold that it applies, and what the threshold hides.
void add_verdict(Document& d, const Expectation& e, Collective op) {
  const TableVerdict& t = e.table;
  d.add(Highlight{verdict_words(e, op)});
  d.add(Paragraph{fmt::format(
      "Sizes from {} on take {:.0f} % {} than expected (median); from {:.0f} % longer on a machine counts as low.",
      format_binary_size(t.plateau_from_bytes), std::abs(t.plateau_percent), t.plateau_percent < 0 ? "less" : "longer",
      t.threshold_percent)});
  if (t.verdict != Verdict::kGood) return;
  if (t.outside > 0)
    d.add(Paragraph{fmt::format(
        "{} of {} sizes {} outside of the band. A band contains nine of ten sizes, so this is not a sign of a fault.",
        t.outside, e.rows.size(), t.outside == 1 ? "is" : "are")});
  const double unseen = std::max(0.0, 100 * (1 - (1 + t.plateau_percent / 100) / (1 + t.threshold_percent / 100)));
  d.add(Paragraph{fmt::format(
      "A further loss of up to {:.0f} % of the bandwidth would not show; compare with --baseline.", unseen)});
}

/// What the files of a folder or an archive are.
Table table_of_files(const std::vector<ResultsFile>& files) {
  Table t{"Files", {to_left("file"), to_left("what it is")}};
  for (const ResultsFile& f : files) t.rows.push_back({f.name, f.what});
  t.note = "Sizes that several files hold count with their median; busbar doctor judges each file.";
  return t;
}

Document to_document(const ExpectFlags& o, const MeasuredResults& results, const Expectation& e,
                     const ExpectOptions& options, bool proposed, const FaultSearchResult* found) {
  const Collective op = options.op;
  const double ranks = e.ranks;
  const std::string words = policy_words(options.policy, launch_mode(o, results), e.launch);
  Document d{fmt::format("{} compared with {}", o.file, o.cluster), o.common.typed, {}};
  Table t{fmt::format("{}: measured and expected", name_of(op)),
          {"size (B)", "measured (us)", "expected (us)", "from (us)", "to (us)", "busbw (GB/s)",
           "expected busbw (GB/s)", to_left("verdict"), to_left("how")}};
  for (const ExpectedRow& r : e.rows) {
    const double bus = bus_factor(op, ranks) * static_cast<double>(r.size_bytes) / 1e3;
    t.rows.push_back({std::to_string(r.size_bytes), us(r.measured_us), us(r.expected_us), us(r.low_us), us(r.high_us),
                      format_number(bus / r.measured_us), format_number(bus / r.expected_us), name_of(r.verdict),
                      r.how});
  }
  t.note =
      "good: inside the band of the prediction (docs/accuracy.md); low: slower; fast: faster, so the prediction is "
      "off; "
      "suspicious: faster than physics allows. GB/s is 1e9 bytes per second per direction.";
  d.add(draw_expectation(e.rows, op, ranks), Audience::kPage);
  d.add(t);
  add_verdict(d, e, op);
  if (proposed)
    d.blocks.push_back(
        {Paragraph{fmt::format("The machine is taken from the file: {} x {} on {} hosts. Name another with --cluster.",
                               results.ranks, results.product, results.hosts)}});
  d.add(Paragraph{"Expected with " + words + "."});
  for (const std::string& line : results.unread) d.add(Paragraph{"Not read: " + line + "."});
  if (!results.files.empty()) d.add(table_of_files(results.files));
  views::add_findings(questions::fault_findings(found, e), d);
  return d;
}

Result<int> run_expect(ExpectFlags o) {
  if (o.thresholds) return run_thresholds(o);
  if (o.file.empty()) return invalid("no results given; name a file, or use --thresholds for acceptance limits", {});
  BUSBAR_ASSIGN(const MeasuredResults results, read_results(o.file));
  if (!o.baseline.empty()) return run_baseline(o, results);
  const bool proposed = o.cluster.empty();
  if (proposed) o.cluster = proposed_cluster(results);
  BUSBAR_ASSIGN(ExpectOptions options, read_options(o, results));
  LongRun watch("rows");
  options.go_on = [&watch](std::size_t known, std::size_t all) { return watch.go_on(known, all); };
  BUSBAR_ASSIGN(const Expectation e, expect_results(results, options));
  if (e.rows.empty() && watch.interrupted()) {  // no verdict without a row
    watch.report_interruption();
    return watch.status();
  }
  std::optional<FaultSearchResult> found;
  if (is_searched(e) && e.rows.size() == results.rows.size()) {
    BUSBAR_ASSIGN(found, search_faults(e.rows, options));
  }
  watch.report_interruption();
  Json j{{"schema", "busbar.expect/1"}, {"cluster", o.cluster}, {"collective", name_of(options.op)},
         {"engine", o.common.engine},   {"gpus", e.ranks},      {"rows", Json::array()}};
  for (const ExpectedRow& r : e.rows)
    j["rows"].push_back({{"size_bytes", r.size_bytes},
                         {"measured_us", r.measured_us},
                         {"expected_us", r.expected_us},
                         {"low_us", r.low_us},
                         {"high_us", r.high_us},
                         {"verdict", name_of(r.verdict)},
                         {"how", r.how},
                         {"bound_by", r.bound_by}});
  j["verdict"] = name_of(e.table.verdict);
  j["why"] = e.table.why;
  j["plateau"] = {{"from_bytes", e.table.plateau_from_bytes},
                  {"slower_percent", e.table.plateau_percent},
                  {"threshold_percent", e.table.threshold_percent}};
  j["cluster_proposed"] = proposed;
  j.update(busbar::to_json(questions::fault_findings(found ? &*found : nullptr, e)));
  add_policy(j, options.policy, launch_mode(o, results), e.launch);
  j["unread"] = results.unread;
  for (const ResultsFile& f : results.files)
    j["files"].push_back({{"file", f.name}, {"what", f.what}, {"has_results", f.has_results}});
  j["complete"] = e.rows.size() == results.rows.size();
  j["inputs_hash"] = inputs_hash(o.common, e.inputs);
  return deliver(o.common, j, to_document(o, results, e, options, proposed, found ? &*found : nullptr),
                 watch.status(e.table.verdict == Verdict::kGood ? 0 : 1));
}

Result<int> run_calibrate(const ExpectFlags& o) {
  BUSBAR_ASSIGN(const MeasuredResults results, read_results(o.file));
  BUSBAR_ASSIGN(const ExpectOptions options, read_options(o, results));
  BUSBAR_ASSIGN(const Calibration c, calibrate(results, options));
  Json j{{"schema", "busbar.calibrate/1"},
         {"cluster", o.cluster},
         {"before", {{"median_abs_percent", c.before_percent}}},
         {"after", {{"median_abs_percent", c.after_percent}}},
         {"share", c.share},
         {"latency_factor", c.latency},
         {"launch_us", c.launch_us},
         {"verdict", name_of(c.verdict)},
         {"why", c.why},
         {"overlay", c.overlay},
         {"inputs_hash", inputs_hash(o.common, c.inputs)}};
  Document d{fmt::format("{} fitted to {}", o.cluster, o.file), o.common.typed, {}};
  Facts facts;
  facts.items = {{"before", fmt::format("{:.1f} % median error", c.before_percent)},
                 {"after", fmt::format("{:.1f} % median error", c.after_percent)},
                 {"bandwidth", fmt::format("{:.1f} % of the expected value", c.share * 100)},
                 {"latency", fmt::format("{:.1f} % of the expected value", c.latency * 100)},
                 {"launch", fmt::format("{:.1f} us", c.launch_us)},
                 {"verdict", fmt::format("{}: {}", name_of(c.verdict), c.why)}};
  d.add(facts);
  const bool fits = c.verdict == CalibrationVerdict::kFits;
  if (!o.overlay.empty() && !fits) d.add(Paragraph{"The overlay is not written."});
  if (!o.overlay.empty() && fits) {
    BUSBAR_RETURN_IF_ERROR(write_file(o.overlay, c.overlay));
    d.add(Paragraph{"overlay: " + o.overlay});
  }
  return deliver(o.common, j, d, fits ? 0 : 1);
}

Command command_of(const std::shared_ptr<ExpectFlags>& o, const std::string& typed, std::string name,
                   std::string summary) {
  Command c = new_command(o->common, typed, std::move(name), std::move(summary));
  c.positionals = {
      {"RESULTS", "output of nccl-tests, or a CSV with size_bytes and time_us; or a folder or an archive of them",
       &o->file},
      cluster_word(o->cluster, false)};
  c.flags = {cluster_flag(o->cluster),
             {"--collective", "OP", "the measured collective (default: as in the file)", "Machine", &o->op},
             {"-g,--gpus", "N", "number of GPUs in the measurement, the first N (default all)", "Machine", &o->gpus},
             {"--ranks", "LIST", "instead of -g: the GPUs in the measurement, such as 0,1,8,9 or 0:32:8", "Machine",
              &o->ranks}};
  c.add(predict_flags(o->predict, "as in the file, or the machine's own"));
  add_common_flags(c, o->common, Engines::kFluids, false);
  return c;
}

}  // namespace

Command expect_command(const std::string& typed) {
  const auto o = std::make_shared<ExpectFlags>();
  Command c =
      command_of(o, typed, "expect", "compare measured results with the expected ones, with a verdict per size");
  c.examples =
      "  busbar expect examples/logs/all-reduce-8-h100.txt --cluster oci-h100\n"
      "  busbar expect results.csv --cluster dgx-a100 --collective all_gather --json\n"
      "  busbar expect today.txt --baseline yesterday.txt --tolerance 3\n"
      "  busbar expect --thresholds --cluster dgx-h100:4 --csv\n";
  c.positionals.front().required = false;
  for (Flag& f : c.flags)  // a comparison with other results predicts nothing
    if (f.category == "NCCL" || f.names == "--shortcuts-off" || (f.category == "Machine" && f.names != "--catalog"))
      f.useless_with.emplace_back("--baseline");
  c.add({{"--thresholds", "", "print the least acceptable bandwidth by collective and size, instead of results", "Rows",
          &o->thresholds},
         with("--thresholds", {"-b,--minbytes", "SIZE", "smallest size (default 1M)", "Rows", &o->first}),
         with("--thresholds", {"-e,--maxbytes", "SIZE", "largest size (default 16G)", "Rows", &o->last}),
         with("--thresholds", {"-f,--stepfactor", "F", "factor between sizes (default 4)", "Rows", &o->factor}),
         {"--baseline", "OLD", "compare with other results instead of a machine", "Rows", &o->baseline},
         with("--baseline", {"--tolerance", "PERCENT", "ignore smaller changes (default 5)", "Rows", &o->tolerance})});
  c.run = [o] { return run_expect(*o); };
  return c;
}

Command calibrate_command(const std::string& typed) {
  const auto o = std::make_shared<ExpectFlags>();
  Command c = command_of(o, typed, "calibrate", "fit a machine to measured results, or report that it is broken");
  c.examples =
      "  busbar calibrate results.txt --cluster dgx-h100:2 --out mine.yaml\n"
      "  busbar collective mine.yaml all_reduce\n";
  c.flags.push_back({"--out,--overlay", "FILE", "write the fitted machine as a cluster file", "Output", &o->overlay});
  c.run = [o] { return run_calibrate(*o); };
  return c;
}

}  // namespace busbar
