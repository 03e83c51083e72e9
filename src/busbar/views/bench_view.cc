// Executed collectives: the table of nccl-tests with predictions.
#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "busbar/base/quantity.h"
#include "busbar/questions/bench_question.h"
#include "busbar/views/bandwidth_charts.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::BenchRequest;
using questions::BenchResult;
using questions::BenchRow;

std::string words_of(const std::string& transport) {
  if (transport == "tcp") return "processes over TCP";
  if (transport == "ucx") return "processes over UCX";
  if (transport == "ofi") return "processes over libfabric";
  return transport == "shm" ? "processes that share memory" : "threads";
}

/// The algorithm of all sizes; empty: they differ.
std::string only_algorithm(const BenchResult& r) {
  for (const BenchRow& row : r.results)
    if (row.algorithm != r.results.front().algorithm) return {};
  return r.results.empty() ? "" : r.results.front().algorithm;
}

/// All of this is on the host.
std::string limit_words(const BenchRow& row) {
  constexpr std::string_view kHere = " of host";
  std::string out = row.bound_by.value_or("-");
  if (out.ends_with(kHere)) out.resize(out.size() - kHere.size());
  return out;
}

std::string number_or_dash(const std::optional<double>& x) { return x ? format_number(*x) : "-"; }
std::string wrong_words(const std::optional<std::uint64_t>& n) { return n ? std::to_string(*n) : "N/A"; }

report::Table bench_table(const BenchResult& r) {
  const bool each = only_algorithm(r).empty();
  const bool in_place =
      std::any_of(r.results.begin(), r.results.end(), [](const BenchRow& row) { return row.in_place_us.has_value(); });
  report::Table t{
      "", {"size (B)", "time (us)", "predicted (us)", "ratio", "algbw (GB/s)", "busbw (GB/s)", "#wrong"}, {}, ""};
  t.columns.push_back(report::to_left("bound by"));
  if (each) t.columns.push_back(report::to_left("algorithm"));
  if (in_place)  // last: a narrow terminal drops columns from the end
    for (const char* name : {"in place (us)", "algbw (GB/s)", "busbw (GB/s)", "#wrong"}) t.columns.emplace_back(name);
  for (const BenchRow& row : r.results) {
    std::vector<std::string> cells{
        std::to_string(row.size_bytes),   format_number(row.measured_us),
        number_or_dash(row.predicted_us), row.ratio ? fmt::format("{:.2f}", *row.ratio) : "-",
        format_number(row.algbw_GBps),    format_number(row.busbw_GBps),
        wrong_words(row.wrong),           limit_words(row)};
    if (each) cells.push_back(row.algorithm);
    if (in_place)
      cells.insert(cells.end(), {number_or_dash(row.in_place_us), number_or_dash(row.in_place_algbw_GBps),
                                 number_or_dash(row.in_place_busbw_GBps), wrong_words(row.in_place_wrong)});
    t.rows.push_back(std::move(cells));
  }
  t.note = "ratio: measured (the first time) / predicted, on this host as measured before the run.";
  return t;
}

report::Facts bench_facts(const BenchResult& r) {
  report::Facts out{"This host, as measured", {}};
  const auto rate = [](double GBps) { return format_rate(GBps * 1e9); };
  out.items = {{"host", fmt::format("{}, {} cores", r.host.name, r.host.cores)},
               {"copy, one core", fmt::format("{} in cache, {} with the largest buffers",
                                              rate(r.host.copy_in_cache_GBps), rate(r.host.copy_GBps))},
               {"add, one core", fmt::format("{} in cache, {} with the largest buffers", rate(r.host.add_in_cache_GBps),
                                             rate(r.host.add_GBps))},
               {"a step of a ring",
                fmt::format("{}, {} for each further message of a rank", format_duration(r.host.hop_us * 1e-6),
                            format_duration(r.host.per_message_us * 1e-6))},
               {"a rank takes in", fmt::format("{} while all do, {} and adds, {} alone", rate(r.host.run_copy_GBps),
                                               rate(r.host.run_add_GBps), rate(r.host.run_one_copy_GBps))}};
  for (const std::string& note : r.notes) out.items.emplace_back("note", note);
  return out;
}

report::Table steps_table(const BenchResult& r) {
  report::Table t{
      "Steps whose ends differ most", {"step", "rank", report::to_left("what"), "measured (us)", "simulated (us)"}, {}};
  for (const questions::BenchStep& s : r.steps)
    t.rows.push_back({std::to_string(s.step), std::to_string(s.rank), s.what, format_number(s.measured_us),
                      format_number(s.simulated_us)});
  t.note = "Of one more run of the largest size, since its first step began; simulated message by message.";
  return t;
}

std::string verdict(const BenchResult& r) {
  std::string out = r.exit_status == 0 ? "Every element is as it must be." : "Some elements are wrong.";
  if (r.results.empty() || !r.results.front().wrong) out = "Results were not checked.";
  if (r.median_error_percent)
    out += fmt::format(" Predictions are off by {:.0f} % in the median.", *r.median_error_percent);
  return out;
}

/// The first row of each size: where several algorithms ran, that of the first one.
MeasuredTimes times_of(const BenchResult& r) {
  MeasuredTimes out{fmt::format("Time of {} by size, measured and predicted", r.collective), {}};
  for (const BenchRow& row : r.results)
    if (out.points.empty() || out.points.back().bytes != row.size_bytes)
      out.points.push_back({row.size_bytes, row.measured_us, row.predicted_us.value_or(0)});
  return out;
}

report::Document bench_document(const BenchRequest&, const BenchResult& r) {
  const std::string algorithm = only_algorithm(r);
  report::Document d{
      fmt::format("{} over {} ranks on {}, {}, {} {}{}{}", r.collective, r.ranks, r.host.name, words_of(r.transport),
                  r.datatype, r.reduction, algorithm.empty() ? "" : ", ", algorithm),
      {},
      {}};
  d.add(draw_measured_times(times_of(r)), report::Audience::kPage);
  d.add(bench_table(r));
  d.add(report::Highlight{verdict(r)});
  if (!r.steps.empty()) d.add(steps_table(r));
  d.add(bench_facts(r));
  return d;
}

}  // namespace

View bench_view() { return make_view("bench", bench_document); }

}  // namespace busbar::views
