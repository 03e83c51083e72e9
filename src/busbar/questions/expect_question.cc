#include "busbar/questions/expect_question.h"

#include <fmt/core.h>

#include <iterator>
#include <optional>
#include <utility>

#include "busbar/accuracy/results_meaning.h"
#include "busbar/questions/question.h"
#include "busbar/questions/sweep.h"

namespace busbar::questions {

Result<accuracy::ExpectOptions> options_of(const MeasuredRequest& q, const accuracy::MeasuredResults& results,
                                           const Context& context) {
  BUSBAR_ASSIGN(accuracy::ExpectOptions out, accuracy::expect_options(q.machine, q.engine, q.cluster, q.collective,
                                                                      q.predict, results, q.gpus, context.stop));
  out.ranks = q.ranks;
  if (q.gpus != 0 && !q.ranks.empty()) return invalid("already selects the GPUs; leave out -g", field_of("ranks"));
  out.go_on = [&context](std::size_t known, std::size_t all) { return context.go_on("rows", known, all); };
  return out;
}

namespace {

/// Collectives that acceptance tests use.
constexpr collectives::Collective kAccepted[] = {
    collectives::Collective::kAllReduce, collectives::Collective::kAllGather, collectives::Collective::kReduceScatter,
    collectives::Collective::kBroadcast, collectives::Collective::kAllToAll,  collectives::Collective::kSendRecv};

ThresholdRow threshold_row(const accuracy::Threshold& r) {
  return {collectives::name_of(r.op),
          r.size_bytes,
          r.least_busbw_GBps,
          r.expected_busbw_GBps,
          r.most_busbw_GBps,
          r.expected_us,
          r.least_us,
          r.most_us,
          {r.band.low_percent, r.band.high_percent},
          r.band.basis,
          r.how,
          r.bound_by};
}

Result<ThresholdsResult> thresholds_of(const ExpectRequest& asked, const Context& context) {
  MeasuredRequest q = asked.measured;
  if (q.cluster.empty()) q.cluster.swap(q.results);  // without results, the word is the machine
  if (!q.results.empty() || !asked.baseline.empty())
    return invalid("takes no results and no baseline; leave them out", field_of("thresholds"));
  BUSBAR_ASSIGN(const accuracy::ExpectOptions options, options_of(q, {}, context));
  BUSBAR_ASSIGN(const std::vector<Bytes> sweep, sweep_sizes(asked.min_bytes, asked.max_bytes, asked.step_factor));
  std::vector<std::uint64_t> sizes;
  for (const Bytes size : sweep) sizes.push_back(count(size));
  std::vector<collectives::Collective> ops(std::begin(kAccepted), std::end(kAccepted));
  if (!q.collective.empty()) ops = {options.op};
  BUSBAR_ASSIGN(const accuracy::Thresholds found, accuracy::acceptance_thresholds(options, ops, sizes));
  ThresholdsResult r;
  r.cluster = q.cluster;
  r.engine = q.engine;
  r.gpus = found.ranks;
  for (const accuracy::Threshold& row : found.rows) r.rows.push_back(threshold_row(row));
  r.policy = policy_result(options.policy, q.predict.launch, found.launch);
  r.inputs_hash = inputs_hash("expect", asked, found.inputs);
  r.complete = !context.stopped();
  return r;
}

Result<BaselineResult> against_baseline(const ExpectRequest& q, const accuracy::MeasuredResults& results) {
  BUSBAR_ASSIGN(const accuracy::MeasuredResults before, accuracy::read_results(q.baseline));
  BUSBAR_ASSIGN(const std::vector<accuracy::ComparedRow> rows, accuracy::compare_results(results, before));
  BaselineResult r{q.baseline, q.tolerance, {}, "good", 0};
  for (const accuracy::ComparedRow& row : rows) {
    const bool worse = row.change_percent() > q.tolerance;
    if (worse) r.exit_status = 1;
    r.rows.push_back({row.size_bytes, row.measured_us, row.baseline_us, row.change_percent(),
                      worse                                 ? "low"
                      : row.change_percent() < -q.tolerance ? "suspicious"
                                                            : "good"});
  }
  if (r.exit_status == 1) r.verdict = "low";
  return r;
}

void add_rows(const accuracy::Expectation& e, ExpectResult& r) {
  for (const accuracy::ExpectedRow& row : e.rows)
    r.rows.push_back({row.size_bytes, row.measured_us, row.expected_us, row.low_us, row.high_us,
                      accuracy::name_of(row.verdict), row.how, row.bound_by});
  r.verdict = accuracy::name_of(e.table.verdict);
  r.why = e.table.why;
  r.plateau = {e.table.plateau_from_bytes, e.table.plateau_percent, e.table.threshold_percent};
  r.exit_status = e.table.verdict == accuracy::Verdict::kGood ? 0 : 1;
}

Result<ExpectResult> against_machine(const ExpectRequest& asked, accuracy::MeasuredResults results,
                                     const Context& context) {
  MeasuredRequest q = asked.measured;
  ExpectResult r;
  r.cluster_proposed = q.cluster.empty();
  if (r.cluster_proposed) q.cluster = accuracy::proposed_cluster(results);
  BUSBAR_ASSIGN(const accuracy::ExpectOptions options, options_of(q, results, context));
  BUSBAR_ASSIGN(r.expectation, accuracy::expect_results(results, options));
  const accuracy::Expectation& e = r.expectation;
  if (e.rows.empty() && context.stopped()) return invalid("stopped before a row was known");  // no verdict without one
  std::optional<accuracy::FaultSearchResult> found;
  if (accuracy::is_searched(e) && e.rows.size() == results.rows.size()) {
    BUSBAR_ASSIGN(found, accuracy::search_faults(e.rows, options));
  }
  r.cluster = q.cluster;
  r.collective = collectives::name_of(options.op);
  r.engine = q.engine;
  r.gpus = e.ranks;
  add_rows(e, r);
  r.faults = fault_findings(found ? &*found : nullptr, e);
  r.policy = policy_result(options.policy, q.predict.launch.empty() ? results.launch : q.predict.launch, e.launch);
  r.unread = results.unread;
  r.assumed = results.assumed;
  for (const accuracy::ResultsFile& f : results.files) r.read_files.push_back({f.name, f.what, f.has_results});
  r.complete = e.rows.size() == results.rows.size();
  r.inputs_hash = inputs_hash("expect", asked, e.inputs);
  r.op = options.op;
  r.rules = options.policy;
  r.results = std::move(results);
  return r;
}

}  // namespace

Result<ExpectAnswer> answer(const ExpectRequest& q, const Context& context) {
  if (q.thresholds) {
    BUSBAR_ASSIGN(ThresholdsResult r, thresholds_of(q, context));
    return ExpectAnswer(std::move(r));
  }
  const std::string& file = q.measured.results;
  if (file.empty()) return invalid("no results given; name a file, or use --thresholds for acceptance limits", {});
  BUSBAR_ASSIGN(accuracy::MeasuredResults results, accuracy::read_results(file));
  if (!q.baseline.empty()) {
    BUSBAR_ASSIGN(BaselineResult r, against_baseline(q, results));
    return ExpectAnswer(std::move(r));
  }
  BUSBAR_ASSIGN(ExpectResult r, against_machine(q, std::move(results), context));
  return ExpectAnswer(std::move(r));
}

Question expect_question() {
  return make_question<ExpectRequest, ExpectAnswer>(
      "expect", "compare measured results with the expected ones, with a verdict per size",
      "  busbar expect examples/logs/all-reduce-8-h100.txt --cluster oci-h100\n"
      "  busbar expect results.csv --cluster dgx-a100 --collective all_gather --json\n"
      "  busbar expect today.txt --baseline yesterday.txt --tolerance 3\n"
      "  busbar expect --thresholds --cluster dgx-h100:4 --csv\n",
      120);
}

}  // namespace busbar::questions
