// Measured results next to expected ones.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "busbar/base/quantity.h"
#include "busbar/questions/expect_question.h"
#include "busbar/views/bandwidth_charts.h"
#include "busbar/views/fault_findings.h"
#include "busbar/views/policy_words.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::BaselineResult;
using questions::BaselineRow;
using questions::ExpectAnswer;
using questions::ExpectRequest;
using questions::ExpectResult;
using questions::ThresholdRow;
using questions::ThresholdsResult;

report::Document thresholds_document(const ThresholdsResult& found) {
  report::Document d{fmt::format("Acceptance of {} over {} GPUs", found.cluster, found.gpus), {}, {}};
  report::Table t{"Bus bandwidth to accept",
                  {report::to_left("collective"), "size (B)", "at least (GB/s)", "expected (GB/s)", "at most (us)",
                   "expected (us)", "band (%)", report::to_left("how"), report::to_left("bound by")}};
  for (const ThresholdRow& r : found.rows)
    t.rows.push_back({r.collective, std::to_string(r.size_bytes), format_number(r.least_busbw_GBps),
                      format_number(r.expected_busbw_GBps), format_number(r.high_us, 4),
                      format_number(r.expected_us, 4),
                      fmt::format("{:+.0f} to {:+.0f}", r.band_percent[0], r.band_percent[1]), r.how, r.bound_by});
  t.note =
      "at least: the bus bandwidth, as nccl-tests prints it, that 95 of 100 healthy machines reach relative to their "
      "prediction; band: of the time. GB/s is 1e9 bytes per second per direction.";
  d.add(t);
  std::vector<std::string> said;
  for (const ThresholdRow& r : found.rows)
    if (std::find(said.begin(), said.end(), r.band_basis) == said.end()) said.push_back(r.band_basis);
  for (const std::string& basis : said) d.add(report::Paragraph{"Band: " + basis + "."});
  return d;
}

std::string in_us(double value) { return format_number(value, 4); }

report::Document baseline_document(const ExpectRequest& q, const BaselineResult& r) {
  report::Document d{fmt::format("{} against {}", q.measured.results, r.baseline), {}, {}};
  report::Table t{d.title, {"size (B)", "now (us)", "before (us)", "change (%)", report::to_left("verdict")}};
  for (const BaselineRow& row : r.rows)
    t.rows.push_back({std::to_string(row.size_bytes), in_us(row.measured_us), in_us(row.baseline_us),
                      fmt::format("{:+.1f}", row.change_percent), row.verdict});
  d.add(t);
  return d;
}

/// "Too slow: 1 GiB reaches 206 of 464 GB/s (44 %)", and why.
std::string verdict_words(const accuracy::Expectation& e, collectives::Collective op) {
  constexpr const char* kWords[] = {"Good", "Too slow", "Faster than expected", "Suspicious"};  // per Verdict
  static_assert(std::size(kWords) == static_cast<std::size_t>(accuracy::Verdict::kSuspicious) + 1);
  const accuracy::ExpectedRow& last = e.rows.back();
  const double bus_bytes = predict::bus_factor(op, e.ranks) * static_cast<double>(last.size_bytes);
  const bool odd = e.table.verdict == accuracy::Verdict::kGood && last.verdict != accuracy::Verdict::kGood;
  const std::string why = e.table.why.empty() ? "" : "; " + e.table.why;
  return fmt::format("{}: {} reaches {} of {} GB/s ({:.0f} %){}{}.",
                     odd ? "Good except for the largest size" : kWords[static_cast<std::size_t>(e.table.verdict)],
                     format_binary_size(last.size_bytes), format_number(bus_bytes / 1e3 / last.measured_us),
                     format_number(bus_bytes / 1e3 / last.expected_us), 100 * last.expected_us / last.measured_us, why,
                     odd ? "; measure it again" : "");
}

/// The verdict, the threshold that it applies, and what the threshold hides.
void add_verdict(report::Document& d, const accuracy::Expectation& e, collectives::Collective op) {
  const accuracy::TableVerdict& t = e.table;
  d.add(report::Highlight{verdict_words(e, op)});
  d.add(report::Paragraph{fmt::format(
      "Sizes from {} on take {:.0f} % {} than expected (median); from {:.0f} % longer on a machine counts as low.",
      format_binary_size(t.plateau_from_bytes), std::abs(t.plateau_percent), t.plateau_percent < 0 ? "less" : "longer",
      t.threshold_percent)});
  if (t.verdict != accuracy::Verdict::kGood) return;
  if (t.outside > 0)
    d.add(report::Paragraph{fmt::format(
        "{} of {} sizes {} outside of the band. A band contains nine of ten sizes, so this is not a sign of a fault.",
        t.outside, e.rows.size(), t.outside == 1 ? "is" : "are")});
  const double unseen = std::max(0.0, 100 * (1 - (1 + t.plateau_percent / 100) / (1 + t.threshold_percent / 100)));
  d.add(report::Paragraph{fmt::format(
      "A further loss of up to {:.0f} % of the bandwidth would not show; compare with --baseline.", unseen)});
}

/// What the files of a folder or an archive are.
report::Table table_of_files(const std::vector<accuracy::ResultsFile>& files) {
  report::Table t{"Files", {report::to_left("file"), report::to_left("what it is")}};
  for (const accuracy::ResultsFile& f : files) t.rows.push_back({f.name, f.what});
  t.note = "Sizes that several files hold count with their median; busbar doctor judges each file.";
  return t;
}

report::Document results_document(const ExpectRequest& q, const ExpectResult& r) {
  const collectives::Collective op = r.op;
  const accuracy::Expectation& e = r.expectation;
  const accuracy::MeasuredResults& results = r.results;
  const double ranks = e.ranks;
  const std::string& launch = q.measured.predict.launch;
  const std::string words = policy_words(r.rules, launch.empty() ? results.launch : launch, e.launch);
  report::Document d{fmt::format("{} compared with {}", q.measured.results, r.cluster), {}, {}};
  report::Table t{fmt::format("{}: measured and expected", collectives::name_of(op)),
                  {"size (B)", "measured (us)", "expected (us)", "from (us)", "to (us)", "busbw (GB/s)",
                   "expected busbw (GB/s)", report::to_left("verdict"), report::to_left("how")}};
  for (const accuracy::ExpectedRow& row : e.rows) {
    const double bus = predict::bus_factor(op, ranks) * static_cast<double>(row.size_bytes) / 1e3;
    t.rows.push_back({std::to_string(row.size_bytes), in_us(row.measured_us), in_us(row.expected_us), in_us(row.low_us),
                      in_us(row.high_us), format_number(bus / row.measured_us), format_number(bus / row.expected_us),
                      accuracy::name_of(row.verdict), row.how});
  }
  t.note =
      "good: inside the band of the prediction (docs/accuracy.md); low: slower; fast: faster, so the prediction is "
      "off; "
      "suspicious: faster than physics allows. GB/s is 1e9 bytes per second per direction.";
  d.add(draw_expectation(e.rows, op, ranks), report::Audience::kPage);
  d.add(t);
  add_verdict(d, e, op);
  if (r.cluster_proposed)
    d.add(report::Paragraph{
        fmt::format("The machine is taken from the file: {} x {} on {} hosts. Name another with --cluster.",
                    results.ranks, results.product, results.hosts)});
  d.add(report::Paragraph{"Expected with " + words + "."});
  for (const std::string& what : results.assumed) d.add(report::Paragraph{"Assumed: " + what + "."});
  for (const std::string& line : results.unread) d.add(report::Paragraph{"Not read: " + line + "."});
  if (!results.files.empty()) d.add(table_of_files(results.files));
  add_findings(r.faults, d);
  return d;
}

report::Document expect_document(const ExpectRequest& q, const ExpectAnswer& a) {
  if (const auto* const r = std::get_if<ThresholdsResult>(&a)) return thresholds_document(*r);
  if (const auto* const r = std::get_if<BaselineResult>(&a)) return baseline_document(q, *r);
  return results_document(q, std::get<ExpectResult>(a));
}

}  // namespace

View expect_view() { return make_view("expect", expect_document); }

}  // namespace busbar::views
