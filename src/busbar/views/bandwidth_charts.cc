#include "busbar/views/bandwidth_charts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
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

report::Chart chart_by_size(const char* value, report::AxisUnit unit) {
  report::Chart c;
  c.x = {"size", report::AxisUnit::kBytes, true};
  c.y = {value, unit, true};
  return c;
}
report::Chart bandwidth_chart() { return chart_by_size("bus bandwidth (GB/s)", report::AxisUnit::kNumber); }

/// Bands are measured over ranges of sizes. Between the middles of two such ranges the factors pass from one to the
/// other, so that no edge looks as if it were measured.
std::vector<report::ChartRange> smooth_factors(const std::vector<predict::Prediction>& rows) {
  struct Middle {
    double x, low, high;
  };
  std::vector<Middle> middles;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t end = i;
    while (end < rows.size() && rows[end].band.low_percent == rows[i].band.low_percent &&
           rows[end].band.high_percent == rows[i].band.high_percent)
      ++end;
    const double from = std::log(static_cast<double>(count(rows[i].size())));
    const double to = std::log(static_cast<double>(count(rows[end - 1].size())));
    middles.push_back(
        {(from + to) / 2, std::log1p(rows[i].band.low_percent / 100), std::log1p(rows[i].band.high_percent / 100)});
    i = end;
  }
  std::vector<report::ChartRange> out;
  for (const predict::Prediction& r : rows) {
    const double x = std::log(static_cast<double>(count(r.size())));
    auto next = std::find_if(middles.begin(), middles.end(), [&](const Middle& m) { return m.x >= x; });
    if (next == middles.end()) --next;
    const Middle &b = *next, &a = next == middles.begin() ? b : *(next - 1);
    const double part = b.x > a.x ? std::clamp((x - a.x) / (b.x - a.x), 0.0, 1.0) : 0;
    out.push_back({std::exp(x), std::exp(a.low + (b.low - a.low) * part), std::exp(a.high + (b.high - a.high) * part)});
  }
  return out;
}

/// What a chart shows of a size and a time in us.
using ValueOf = std::function<double(std::uint64_t bytes, double us)>;

bool one_row_per_size(const std::vector<predict::Prediction>& rows) {
  return std::adjacent_find(rows.begin(), rows.end(),
                            [](const auto& a, const auto& b) { return a.size() == b.size(); }) == rows.end();
}

report::ChartPoint point_of(const predict::Prediction& r, const ValueOf& value, double factor) {
  const std::uint64_t bytes = count(r.size());
  const double us = r.time.in_us();
  return {static_cast<double>(bytes), value(bytes, us), words_at(bytes, busbw(bytes, us, factor), us, r.algorithm)};
}

/// NCCL's kernels for registered buffers have curves of their own, apart from the same algorithm by usual kernels.
std::string curve_of(const predict::Prediction& r) {
  return r.nccl && r.nccl->kernel ? "registered buffers" : r.algorithm;
}

/// Thin curves of all algorithms, dots on the rows.
void add_algorithms(const std::vector<predict::Prediction>& rows, const std::vector<predict::Prediction>& others,
                    const ValueOf& value, double factor, report::Chart& c) {
  std::vector<report::ChartSeries> curves, dots;
  for (const auto* list : {&rows, &others})
    for (const predict::Prediction& r : *list) {
      auto at = std::find_if(curves.begin(), curves.end(), [&](const auto& s) { return s.name == curve_of(r); });
      if (at == curves.end()) {
        const int colour = kCurveColours[curves.size() % std::size(kCurveColours)];
        at = curves.insert(curves.end(), {curve_of(r), colour, {}, true, false, false, 1.6});
        dots.push_back({"", colour, {}, false, true});
      }
      at->points.push_back(point_of(r, value, factor));
      if (list == &rows) dots[static_cast<std::size_t>(at - curves.begin())].points.push_back(at->points.back());
    }
  for (report::ChartSeries& s : curves) {
    std::stable_sort(s.points.begin(), s.points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
    c.series.push_back(std::move(s));
  }
  for (report::ChartSeries& s : dots) c.series.push_back(std::move(s));
}

report::Drawing draw_rows(const BandwidthRows& b, report::Chart c, const ValueOf& value) {
  if (b.rows.size() < 2) return {};
  const double factor = predict::bus_factor(b.op, b.ranks);
  report::ChartSeries floor{"no schedule can do better", report::colour::kMuted, {}, true, false, true};
  for (const predict::Prediction& r : b.rows)
    if (r.floor.time > Duration())
      floor.points.push_back({static_cast<double>(count(r.size())), value(count(r.size()), r.floor.time.in_us())});
  if (one_row_per_size(b.rows)) {
    report::ChartSeries choice{b.choice, report::colour::kFrame, {}, true, false, false, 9};
    for (const predict::Prediction& r : b.rows) choice.points.push_back(point_of(r, value, factor));
    report::ChartBand band{"8 of 10 measurements", report::colour::kCompute, {}};
    const std::vector<report::ChartRange> factors = smooth_factors(b.rows);
    for (std::size_t i = 0; i < b.rows.size(); ++i) {
      const predict::Prediction& r = b.rows[i];
      const double us = r.time.in_us();
      const double low = value(count(r.size()), us * factors[i].low),
                   high = value(count(r.size()), us * factors[i].high);
      if (!r.band.ideal) band.ranges.push_back({factors[i].x, std::min(low, high), std::max(low, high)});
    }
    if (band.ranges.size() > 1) c.bands.push_back(std::move(band));
    c.series.push_back(std::move(choice));
  }
  c.series.push_back(std::move(floor));
  add_algorithms(b.rows, b.others, value, factor, c);
  return report::draw_chart(c);
}

}  // namespace

report::Drawing draw_bandwidth(const BandwidthRows& b) {
  report::Chart c = bandwidth_chart();
  c.title = fmt::format("Bus bandwidth of {} by size", collectives::name_of(b.op));
  const double factor = predict::bus_factor(b.op, b.ranks);
  double best = 0;
  for (const predict::Prediction& r : b.rows) best = std::max(best, busbw(count(r.size()), r.time.in_us(), factor));
  c.description = fmt::format("It rises to {} GB/s. The table has the values.", format_number(best));
  return draw_rows(b, std::move(c), [factor](std::uint64_t bytes, double us) { return busbw(bytes, us, factor); });
}

report::Drawing draw_times(const BandwidthRows& b) {
  report::Chart c = chart_by_size("time", report::AxisUnit::kSeconds);
  c.title = fmt::format("Time of {} by size", collectives::name_of(b.op));
  c.description = "Flat where latency decides, rising where bandwidth does. The table has the values.";
  return draw_rows(b, std::move(c), [](std::uint64_t, double us) { return us * 1e-6; });
}

report::Drawing draw_measured_times(const MeasuredTimes& t) {
  report::Chart c = chart_by_size("time", report::AxisUnit::kSeconds);
  c.title = t.title;
  c.description = "Flat where latency decides, rising where bandwidth does. The table has the values.";
  report::ChartSeries predicted{"predicted", report::colour::kCompute, {}, true, false},
      measured{"measured", report::colour::kFloor, {}, false, true},
      before{"before the fit", report::colour::kMuted, {}, true, false, true};
  report::ChartBand band{"band of the prediction", report::colour::kCompute, {}};
  for (const MeasuredTimes::Point& p : t.points) {
    const auto x = static_cast<double>(p.bytes);
    if (p.predicted_us > 0) predicted.points.push_back({x, p.predicted_us * 1e-6});
    if (p.before_us > 0) before.points.push_back({x, p.before_us * 1e-6});
    if (p.predicted_us > 0 && t.high_factor > 0)
      band.ranges.push_back({x, p.predicted_us * 1e-6 * t.low_factor, p.predicted_us * 1e-6 * t.high_factor});
    if (p.measured_us > 0)
      measured.points.push_back({x, p.measured_us * 1e-6,
                                 fmt::format("{}: measured {}, predicted {}", format_binary_size(p.bytes),
                                             format_duration(p.measured_us * 1e-6),
                                             p.predicted_us > 0 ? format_duration(p.predicted_us * 1e-6) : "-")});
  }
  if (measured.points.size() < 2) return {};
  if (band.ranges.size() > 1) c.bands.push_back(std::move(band));
  if (!before.points.empty()) c.series.push_back(std::move(before));
  c.series.push_back(std::move(predicted));
  c.series.push_back(std::move(measured));
  return report::draw_chart(c);
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

report::Drawing draw_errors(const std::vector<questions::ValidatedRow>& rows) {
  report::Chart c;
  c.title = "Errors by size";
  c.x = {"size", report::AxisUnit::kBytes, true};
  c.y = {"predicted / measured", report::AxisUnit::kNumber, true};
  report::ChartSeries right{"as measured", report::colour::kMuted, {}, true, false},
      inside{"inside a node", report::colour::kCompute, {}, false, true},
      across{"over several nodes", report::colour::kTp, {}, false, true};
  double low = INFINITY, high = 0;
  for (const questions::ValidatedRow& r : rows) {
    if (!r.size_bytes || *r.size_bytes == 0 || !(r.predicted > 0) || !(r.measured > 0)) continue;
    const auto x = static_cast<double>(*r.size_bytes);
    low = std::min(low, x);
    high = std::max(high, x);
    (r.several_nodes ? across : inside)
        .points.push_back(
            {x, r.predicted / r.measured,
             fmt::format("{}, {}: {:+.3g} %", format_binary_size(*r.size_bytes), r.node, r.error_percent)});
  }
  if (!(high > low)) return {};
  double least = 0.5, most = 2;
  for (const auto* points : {&inside.points, &across.points})
    for (const report::ChartPoint& p : *points) least = std::min(least, p.y), most = std::max(most, p.y);
  c.y.low = std::pow(10, std::floor(std::log10(least)));
  c.y.high = std::pow(10, std::ceil(std::log10(most)));
  right.points = {{low, 1}, {high, 1}};
  c.description = "A point per row; on the line the prediction is as measured.";
  c.series = {std::move(right)};
  for (report::ChartSeries* s : {&inside, &across})
    if (!s->points.empty()) c.series.push_back(std::move(*s));
  return report::draw_chart(c);
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
