#include "busbar/views/flow_tables.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/predict/penalties.h"
#include "busbar/report/chart.h"
#include "busbar/report/style.h"

namespace busbar::views {

report::Table fct_table(const std::vector<questions::FctOfSize>& by_size, const predict::Penalties* penalties) {
  report::Table table{"Completion times by size of flow",
                      {report::to_left("size"), "flows", "mean (us)", "p50 (us)", "p99 (us)"}};
  if (penalties == nullptr) table.columns.insert(table.columns.end(), {"slowdown, mean", "p99"});
  for (const questions::FctOfSize& c : by_size) {
    std::vector<std::string> row{c.name, std::to_string(c.flows), format_number(c.fct_us.mean),
                                 format_number(c.fct_us.p50), format_number(c.fct_us.p99)};
    if (c.slowdown) {
      row.push_back(format_number(c.slowdown->mean));
      row.push_back(format_number(c.slowdown->p99));
    }
    table.rows.push_back(std::move(row));
  }
  table.note = penalties == nullptr
                   ? "slowdown: time divided by the time of the same flow alone."
                   : fmt::format("With the penalties of {}. All other times are those of fair sharing.",
                                 predict::name_of(*penalties));
  return table;
}

report::Drawing draw_fct(const questions::FlowTimes& times) {
  const std::vector<questions::TimedFlow>& flows = times.flows();
  constexpr std::size_t kMostPoints = 400;
  report::Chart c;
  c.title = "Completion times: the share of flows that have ended";
  c.description = "It rises from 0 to 100 %. The table has means and percentiles.";
  c.x = {"time of the flow", report::AxisUnit::kSeconds, true};
  c.y = {"flows", report::AxisUnit::kPercent, false, 0, 100};
  report::ChartSeries all{"", report::colour::kCompute, {}, true, false};
  const std::size_t n = flows.size(), step = 1 + n / kMostPoints;
  for (std::size_t i = 0; i < n; i += step)
    all.points.push_back({flows[i].fct_us * 1e-6, 100 * static_cast<double>(i + 1) / static_cast<double>(n)});
  if (n > 0) all.points.push_back({flows.back().fct_us * 1e-6, 100});
  c.series.push_back(std::move(all));
  return report::draw_chart(c);
}

report::Table jobs_table(const std::vector<questions::JobEnd>& jobs) {
  report::Table out{"Jobs", {report::to_left("list"), "flows", "ends after (us)"}};
  for (const questions::JobEnd& j : jobs)
    out.rows.push_back({j.file, std::to_string(j.flows), j.end_us ? format_number(*j.end_us, 4) : "not ended"});
  return out;
}

}  // namespace busbar::views
