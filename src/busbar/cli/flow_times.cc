#include "busbar/cli/flow_times.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/output.h"
#include "busbar/base/quantity.h"
#include "busbar/report/chart.h"
#include "busbar/report/style.h"
#include "busbar/views/penalty_words.h"

namespace busbar {
namespace {

struct SizeClass {
  const char* name;
  double from, to;  ///< bytes; `to` is not in it
};
// The classes of docs/models/packet.md, half a decade and more each.
constexpr SizeClass kClasses[] = {{"below 30 kB", 0, 30e3},
                                  {"30 to 300 kB", 30e3, 300e3},
                                  {"0.3 to 3 MB", 300e3, 3e6},
                                  {"3 MB and more", 3e6, INFINITY}};

/// The least member that a share `share` of `ascending` does not exceed. Pre: not empty.
double quantile(const std::vector<double>& ascending, double share) {
  const auto n = static_cast<double>(ascending.size());
  const double at = std::ceil(share * n - 1e-9 * n) - 1;
  return ascending[static_cast<std::size_t>(std::clamp(at, 0.0, n - 1))];
}

double mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

struct ClassTimes {
  std::vector<double> fct_us, slowdown;  ///< ascending
  SizePenalty by;                        ///< the mean of all its flows; of the quantiles at the mean of log(bytes)
};

ClassTimes times_of(const std::vector<TimedFlow>& flows, const SizeClass& c, const Penalties* penalties) {
  ClassTimes out;
  double log_bytes = 0, sum = 0, sum_with = 0;
  for (const TimedFlow& f : flows) {
    if (static_cast<double>(f.bytes) < c.from || static_cast<double>(f.bytes) >= c.to) continue;
    out.fct_us.push_back(f.fct_us);
    out.slowdown.push_back(f.slowdown);
    if (penalties == nullptr) continue;
    const auto bytes = static_cast<double>(std::max<std::uint64_t>(1, f.bytes));
    log_bytes += std::log(bytes);
    sum += f.fct_us;
    sum_with += penalties->of(bytes).mean * f.fct_us;
  }
  if (penalties != nullptr && sum > 0) {
    out.by = penalties->of(std::exp(log_bytes / static_cast<double>(out.fct_us.size())));
    out.by.mean = sum_with / sum;
  }
  std::sort(out.slowdown.begin(), out.slowdown.end());
  return out;
}

Json summary(const std::vector<double>& x, const SizePenalty& by) {
  return {{"mean", by.mean * mean(x)}, {"p50", by.p50 * quantile(x, 0.5)}, {"p99", by.p99 * quantile(x, 0.99)}};
}

}  // namespace

FlowTimes::FlowTimes(std::vector<TimedFlow> flows) : flows_(std::move(flows)) {
  std::stable_sort(flows_.begin(), flows_.end(), [](const auto& a, const auto& b) { return a.fct_us < b.fct_us; });
}

void FlowTimes::add_to(Json& report, const Penalties* penalties) const {
  std::vector<double> fct;
  for (const TimedFlow& f : flows_) fct.push_back(f.fct_us);
  Json cdf = Json::array(), classes = Json::array();
  for (const double percent : {1., 5., 10., 25., 50., 75., 90., 95., 99., 99.9, 100.})
    if (!fct.empty()) cdf.push_back({{"percent", percent}, {"fct_us", quantile(fct, percent / 100)}});
  double sum = 0;
  for (const SizeClass& c : kClasses) {
    const ClassTimes times = times_of(flows_, c, penalties);
    if (times.fct_us.empty()) continue;
    const SizePenalty& by = times.by;
    sum += by.mean * mean(times.fct_us) * static_cast<double>(times.fct_us.size());
    classes.push_back({{"from_bytes", static_cast<std::uint64_t>(c.from)},
                       {"to_bytes", std::isinf(c.to) ? Json() : Json(static_cast<std::uint64_t>(c.to))},
                       {"flows", times.fct_us.size()},
                       {"fct_us", summary(times.fct_us, by)},
                       {"slowdown", penalties == nullptr ? summary(times.slowdown, {}) : Json()}});
  }
  report["fct_cdf"] = std::move(cdf);
  report["fct_by_size"] = std::move(classes);
  if (penalties == nullptr) return;
  report["penalties"] = to_json(*penalties);
  report["fct_with_penalties_us"] = {{"mean", sum / static_cast<double>(flows_.size())}};
}

Table FlowTimes::table(const Penalties* penalties) const {
  Table table{"Completion times by size of flow", {to_left("size"), "flows", "mean (us)", "p50 (us)", "p99 (us)"}};
  if (penalties == nullptr) table.columns.insert(table.columns.end(), {"slowdown, mean", "p99"});
  for (const SizeClass& c : kClasses) {
    const ClassTimes times = times_of(flows_, c, penalties);
    if (times.fct_us.empty()) continue;
    const SizePenalty& by = times.by;
    std::vector<std::string> row{
        c.name, std::to_string(times.fct_us.size()), format_number(by.mean * mean(times.fct_us)),
        format_number(by.p50 * quantile(times.fct_us, 0.5)), format_number(by.p99 * quantile(times.fct_us, 0.99))};
    if (penalties == nullptr) {
      row.push_back(format_number(mean(times.slowdown)));
      row.push_back(format_number(quantile(times.slowdown, 0.99)));
    }
    table.rows.push_back(std::move(row));
  }
  table.note =
      penalties == nullptr
          ? "slowdown: time divided by the time of the same flow alone."
          : fmt::format("With the penalties of {}. All other times are those of fair sharing.", name_of(*penalties));
  return table;
}

Drawing FlowTimes::draw() const {
  constexpr std::size_t kMostPoints = 400;
  Chart c;
  c.title = "Completion times: the share of flows that have ended";
  c.description = "It rises from 0 to 100 %. The table has means and percentiles.";
  c.x = {"time of the flow", AxisUnit::kSeconds, true};
  c.y = {"flows", AxisUnit::kPercent, false, 0, 100};
  ChartSeries all{"", colour::kCompute, {}, true, false};
  const std::size_t n = flows_.size(), step = 1 + n / kMostPoints;
  for (std::size_t i = 0; i < n; i += step)
    all.points.push_back({flows_[i].fct_us * 1e-6, 100 * static_cast<double>(i + 1) / static_cast<double>(n)});
  if (n > 0) all.points.push_back({flows_.back().fct_us * 1e-6, 100});
  c.series.push_back(std::move(all));
  return draw_chart(c);
}

Status FlowTimes::write_csv(const std::string& file) const {
  std::string out = "fct_us,percent,slowdown,bytes\n";
  for (std::size_t i = 0; i < flows_.size(); ++i)
    out += fmt::format("{},{:.6g},{:.6g},{}\n", flows_[i].fct_us,
                       100 * static_cast<double>(i + 1) / static_cast<double>(flows_.size()), flows_[i].slowdown,
                       flows_[i].bytes);
  return write_file(file, out);
}

}  // namespace busbar
