#include "busbar/views/bandwidth_charts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "busbar/base/quantity.h"
#include "busbar/report/chart.h"
#include "busbar/report/style.h"

namespace busbar::views {
namespace {

constexpr int kCurveColours[] = {report::colour::kCompute,  report::colour::kTp, report::colour::kDp,
                                 report::colour::kPp,       report::colour::kCp, report::colour::kEp,
                                 report::colour::kOptimizer};
constexpr std::size_t kNamedNodes = 6;  // others share one colour

double busbw(std::uint64_t bytes, double us, double factor) { return factor * static_cast<double>(bytes) / us / 1e3; }

std::string words_at(std::uint64_t bytes, double GBps, double us, const std::string& name) {
  return fmt::format("{}: {} GB/s, {}{}{}", format_binary_size(bytes), format_number(GBps), format_duration(us * 1e-6),
                     name.empty() ? "" : ", ", name);
}

report::Chart bandwidth_chart() {
  report::Chart c;
  c.x = {"size", report::AxisUnit::kBytes, true};
  c.y = {"bus bandwidth (GB/s)"};
  return c;
}

}  // namespace

report::Drawing draw_bandwidth(const std::vector<predict::Prediction>& rows, collectives::Collective op, double ranks) {
  report::Chart c = bandwidth_chart();
  c.title = fmt::format("Bus bandwidth of {} by size", collectives::name_of(op));
  const double factor = predict::bus_factor(op, ranks);
  report::ChartSeries floor{"no schedule can do better", report::colour::kMuted, {}, true, false, true};
  report::ChartBand band{"9 of 10 measurements", report::colour::kCompute, {}};
  std::vector<report::ChartSeries> curves;
  for (const predict::Prediction& r : rows) {
    const std::uint64_t bytes = count(r.size());
    const auto x = static_cast<double>(bytes);
    const double rate = busbw(bytes, r.time.in_us(), factor);
    auto curve =
        std::find_if(curves.begin(), curves.end(), [&](const report::ChartSeries& s) { return s.name == r.algorithm; });
    if (curve == curves.end()) {
      const int colour = kCurveColours[curves.size() % std::size(kCurveColours)];
      curve = curves.insert(curves.end(), {r.algorithm, colour, {}});
    }
    curve->points.push_back({x, rate, words_at(bytes, rate, r.time.in_us(), r.algorithm)});
    if (r.floor.time > Duration() && (floor.points.empty() || floor.points.back().x < x))
      floor.points.push_back({x, busbw(bytes, r.floor.time.in_us(), factor)});
    if (!r.band.ideal && (band.ranges.empty() || band.ranges.back().x < x))
      band.ranges.push_back({x, rate / (1 + r.band.high_percent / 100), rate / (1 + r.band.low_percent / 100)});
  }
  double best = 0;
  for (const report::ChartSeries& s : curves)
    for (const report::ChartPoint& p : s.points) best = std::max(best, p.y);
  c.description = fmt::format("It rises to {} GB/s. The table has the values.", format_number(best));
  c.y.high = best * 1.3;  // floors without latency would make the curves flat
  const bool one_each = std::all_of(rows.begin(), rows.end(), [&](const predict::Prediction& r) {
    return std::count_if(rows.begin(), rows.end(),
                         [&](const predict::Prediction& o) { return o.size() == r.size(); }) == 1;
  });
  if (one_each && band.ranges.size() > 1) c.bands.push_back(std::move(band));
  if (one_each) {  // the algorithm changes from size to size: a pale line joins the pieces
    report::ChartSeries all{"", report::colour::kFrame, {}, true, false};
    for (const report::ChartSeries& s : curves) all.points.insert(all.points.end(), s.points.begin(), s.points.end());
    std::sort(all.points.begin(), all.points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
    c.series.push_back(std::move(all));
  }
  c.series.push_back(std::move(floor));
  for (report::ChartSeries& s : curves) c.series.push_back(std::move(s));
  return rows.size() < 2 ? report::Drawing{} : report::draw_chart(c);
}

report::Drawing draw_expectation(const std::vector<accuracy::ExpectedRow>& rows, collectives::Collective op,
                                 double ranks) {
  report::Chart c = bandwidth_chart();
  c.title = fmt::format("Measured and expected bus bandwidth of {}", collectives::name_of(op));
  const double factor = predict::bus_factor(op, ranks);
  report::ChartSeries expected{"expected", report::colour::kCompute, {}, true, false},
      good{"measured", report::colour::kFloor, {}, true, true};
  report::ChartSeries low{"measured, outside the band", report::colour::kOptimizer, {}, false, true};
  report::ChartBand band{"band of the expectation", report::colour::kCompute, {}};
  for (const accuracy::ExpectedRow& r : rows) {
    const auto x = static_cast<double>(r.size_bytes);
    const double measured = busbw(r.size_bytes, r.measured_us, factor);
    const report::ChartPoint point{x, measured,
                                   words_at(r.size_bytes, measured, r.measured_us,
                                            fmt::format("expected {}", format_duration(r.expected_us * 1e-6)))};
    expected.points.push_back({x, busbw(r.size_bytes, r.expected_us, factor)});
    band.ranges.push_back({x, busbw(r.size_bytes, r.high_us, factor), busbw(r.size_bytes, r.low_us, factor)});
    good.points.push_back(point);
    if (r.verdict != accuracy::Verdict::kGood) low.points.push_back(point);
  }
  c.description =
      fmt::format("{} of {} sizes are outside the band. The table has the values.", low.points.size(), rows.size());
  c.bands.push_back(std::move(band));
  c.series = {std::move(expected), std::move(good)};
  if (!low.points.empty()) c.series.push_back(std::move(low));
  return rows.size() < 2 ? report::Drawing{} : report::draw_chart(c);
}

report::Drawing draw_scatter(const std::vector<questions::ValidatedRow>& rows) {
  std::map<std::string, std::size_t> units, nodes;
  for (const questions::ValidatedRow& r : rows)
    if (r.predicted > 0 && r.measured > 0) ++units[r.unit];
  if (units.empty()) return {};
  const std::string unit = std::max_element(units.begin(), units.end(), [](const auto& a, const auto& b) {
                             return a.second < b.second;
                           })->first;
  std::vector<const questions::ValidatedRow*> drawn;
  for (const questions::ValidatedRow& r : rows)
    if (r.unit == unit && r.predicted > 0 && r.measured > 0) drawn.push_back(&r);
  for (const questions::ValidatedRow* r : drawn) ++nodes[r->node];
  std::vector<std::pair<std::size_t, std::string>> most;
  for (const auto& [node, n] : nodes) most.emplace_back(n, node);
  std::sort(most.begin(), most.end(),
            [](const auto& a, const auto& b) { return std::pair(b.first, a.second) < std::pair(a.first, b.second); });
  report::Chart c;
  c.title = fmt::format("Predicted against measured, {} rows", drawn.size());
  c.x = {fmt::format("predicted ({})", unit), report::AxisUnit::kNumber, true};
  c.y = {fmt::format("measured ({})", unit), report::AxisUnit::kNumber, true};
  c.square = true;
  c.note = "Solid: measured as predicted. Dashed: twice and half of it.";
  double low = drawn.front()->predicted, high = low;
  for (const questions::ValidatedRow* r : drawn) {
    low = std::min({low, r->predicted, r->measured});
    high = std::max({high, r->predicted, r->measured});
  }
  c.x.low = c.y.low = low / 1.2;
  c.x.high = c.y.high = high * 1.2;
  for (const double factor : {1.0, 2.0, 0.5}) {
    report::ChartSeries line{"", report::colour::kMuted, {}, true, false, factor != 1};
    const double from = std::max(c.x.low, c.x.low / factor), to = std::min(c.x.high, c.x.high / factor);
    line.points = {{from, from * factor}, {to, to * factor}};
    c.series.push_back(std::move(line));
  }
  for (std::size_t i = 0; i <= std::min(kNamedNodes, most.size() - 1); ++i) {
    const bool rest = i == kNamedNodes;
    report::ChartSeries s{
        rest ? "others" : most[i].second, rest ? report::colour::kOther : kCurveColours[i], {}, false, true};
    for (const questions::ValidatedRow* r : drawn) {
      const bool named =
          std::any_of(most.begin(), most.begin() + static_cast<std::ptrdiff_t>(std::min(kNamedNodes, most.size())),
                      [&](const auto& m) { return m.second == r->node; });
      if (rest ? named : r->node != most[i].second) continue;
      s.points.push_back({r->predicted, r->measured,
                          fmt::format("{}: predicted {}, measured {} {}", r->row_id.value_or(r->source_id.value_or("")),
                                      format_number(r->predicted), format_number(r->measured), unit)});
    }
    c.series.push_back(std::move(s));
  }
  c.description = "Points near the line are good predictions; the tables give the errors.";
  return report::draw_chart(c);
}

}  // namespace busbar::views
