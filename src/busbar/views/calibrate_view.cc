// A machine fitted to measured results.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "busbar/base/quantity.h"
#include "busbar/questions/calibrate_question.h"
#include "busbar/views/bandwidth_charts.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::CalibrateRequest;
using questions::CalibrateResult;

std::string sizes_in_words(const std::vector<std::uint64_t>& sizes) {
  constexpr std::size_t kListed = 4;
  std::string out;
  for (std::size_t i = 0; i < sizes.size() && i < kListed; ++i)
    out += (i > 0 ? ", " : "") + format_binary_size(sizes[i]);
  return sizes.size() > kListed ? fmt::format("{} and {} more", out, sizes.size() - kListed) : out;
}

report::Table tables_table(const CalibrateResult& r) {
  report::Table t{
      "Tables", {report::to_left("file"), report::to_left("collective"), "ranks", "used", report::to_left("not used")}};
  for (const questions::UsedTable& u : r.tables) {
    std::string unused;
    for (const questions::UnusedPart& p : u.unused)
      unused += fmt::format("{}{}{}{}", unused.empty() ? "" : "; ", sizes_in_words(p.size_bytes),
                            p.size_bytes.empty() ? "" : ": ", p.why);
    t.rows.push_back({u.file, u.collective, std::to_string(u.ranks), std::to_string(u.sizes), unused});
  }
  return t;
}

report::Table quantities_table(const CalibrateResult& r) {
  report::Table t{
      "The machine, relative to the expected one",
      {report::to_left("what"), report::to_left("from"), report::to_left("where"), "percent", "from (%)", "to (%)"}};
  for (const accuracy::FittedQuantity& q : r.quantities)
    t.rows.push_back({q.what, q.collective, q.several_nodes ? "between nodes" : "in a node",
                      fmt::format("{:.0f}", q.percent), fmt::format("{:.0f}", q.low_percent),
                      fmt::format("{:.0f}", q.high_percent)});
  t.note = "What no rate and no latency explains is a curve over sizes for each operation, algorithm and protocol.";
  return t;
}

report::Table figures_table(const CalibrateResult& r) {
  report::Table t{"Links, from tests of links alone",
                  {report::to_left("what"), "before", "after", report::to_left("unit"), report::to_left("source")}};
  for (const accuracy::FittedFigure& f : r.figures)
    t.rows.push_back({f.what, fmt::format("{:.4g}", f.before), fmt::format("{:.4g}", f.after), f.unit, f.source});
  return t;
}

report::Table next_table(const CalibrateRequest& q, const CalibrateResult& r) {
  report::Table t{"To measure next for " + q.job,
                  {report::to_left("command"), report::to_left("ranks"), "spread now (%)", "then (%)"}};
  for (const questions::NextMeasurement& n : r.next)
    t.rows.push_back({n.command, n.ranks.empty() ? "all" : n.ranks, fmt::format("{:.2g}", n.before_percent),
                      fmt::format("{:.2g}", n.after_percent)});
  t.note =
      "Spread: nine tenths, up and down, of the answer by the times of its collectives alone. Calibrate again with all "
      "results; give the ranks as --ranks.";
  return t;
}

/// A chart per table; many tables say little more, and their rows are in --json.
void add_charts(const CalibrateResult& r, report::Document& d) {
  constexpr std::size_t kMostCharts = 6;
  std::vector<MeasuredTimes> charts;
  for (const accuracy::CalibratedRow& row : r.rows) {
    std::string title = fmt::format("Time of {} over {} ranks by size: {}", row.collective, row.ranks,
                                    std::filesystem::path(row.file).filename().string());
    if (charts.empty() || charts.back().title != title) charts.push_back({std::move(title), {}});
    charts.back().points.push_back({row.size_bytes, row.measured_us, row.after_us, row.before_us});
  }
  for (std::size_t i = 0; i < std::min(charts.size(), kMostCharts); ++i)
    d.add(draw_measured_times(charts[i]), report::Audience::kPage);
}

report::Document calibrate_document(const CalibrateRequest& q, const CalibrateResult& r) {
  const std::string files = r.tables.size() == 1 ? r.tables.front().file : fmt::format("{} tables", r.tables.size());
  report::Document d{fmt::format("{} fitted to {}", r.cluster, files), {}, {}};
  report::Facts facts;
  facts.items = {{"before", fmt::format("{:.1f} % median error", r.before.median_abs_percent)},
                 {"after", fmt::format("{:.1f} % median error", r.after.median_abs_percent)}};
  if (!r.quantities.empty()) {
    facts.items.push_back({"bandwidth", fmt::format("{:.1f} % of the expected value", r.share * 100)});
    facts.items.push_back({"latency", fmt::format("{:.1f} % of the expected value", r.latency_factor * 100)});
  }
  facts.items.push_back({"verdict", fmt::format("{}: {}", r.verdict, r.why)});
  d.add(facts);
  add_charts(r, d);
  d.add(tables_table(r));
  for (const std::string& words : r.contradictions) d.add(report::Paragraph{"Results differ: " + words});
  if (!r.figures.empty()) d.add(figures_table(r));
  if (!r.quantities.empty()) d.add(quantities_table(r));
  if (!r.next.empty()) d.add(next_table(q, r));
  if (!q.job.empty() && r.next.empty())
    d.add(report::Paragraph{"No collective makes the answer wait: no table of collectives narrows it."});
  if (q.overlay.empty()) return d;
  d.add(report::Paragraph{r.files.empty() ? "The overlay is not written." : "overlay: " + q.overlay});
  return d;
}

}  // namespace

View calibrate_view() { return make_view("calibrate", calibrate_document); }

}  // namespace busbar::views
