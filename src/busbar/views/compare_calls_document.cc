#include "busbar/views/compare_calls_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "busbar/base/quantity.h"
#include "busbar/cost/money.h"
#include "busbar/report/chart.h"
#include "busbar/report/style.h"

namespace busbar::views {
namespace {

using CallRows = std::vector<questions::CallRow>;

std::string call_name_of(const questions::CallRow& r, bool algorithms) {
  std::string out = r.machine;
  if (!r.fabric.empty()) out += ", " + r.fabric;
  if (algorithms) out += ", " + r.algorithm;
  return out;
}

/// Closer than the band of the difference: 2 % on one kind of server, an assumption (compare_run.cc).
bool ties(const questions::CallRow& a, const questions::CallRow& b) {
  const double apart = 100 * (std::max(a.time_s, b.time_s) / std::min(a.time_s, b.time_s) - 1);
  return apart < questions::band_of_difference(a.machine, a.band, b.machine, b.band);
}

/// "ring, simple"; with packets what they add, and why.
std::string way_of(const questions::CallRow& r) {
  if (!r.packets || r.time_s <= r.packets->even_s) return r.how;
  std::string out =
      fmt::format("{}; packets take {} times as long", r.how, format_number(r.time_s / r.packets->even_s));
  for (const questions::PacketCauseResult& c : r.packets->causes)
    if (c.added_s > 0) out += fmt::format(", {} {:.0f} % of what tuning takes away", c.cause, c.share_percent);
  return out;
}

report::Table size_table(const std::vector<const questions::CallRow*>& rows, bool algorithms) {
  report::Table t{format_binary_size(count(rows[0]->size)),
                  {report::to_left(""), report::to_left("machine"), "time", "time (%)", "busbw (GB/s)", "price",
                   "power", report::to_left("how"), report::to_left("")}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const questions::CallRow& r = *rows[i];
    const bool first = i == 0 || rows[0]->time_s <= 0;
    std::string same;
    for (std::size_t k = 0; k < i && r.refused.empty(); ++k)
      if (rows[k]->refused.empty() && ties(*rows[k], r))
        same += (same.empty() ? "tie with " : ", ") + questions::letter_of(k);
    if (!r.refused.empty()) {
      t.rows.push_back(
          {questions::letter_of(i), call_name_of(r, algorithms), "-", "-", "-", "-", "-", "cannot run it", ""});
      continue;
    }
    t.rows.push_back({questions::letter_of(i), call_name_of(r, algorithms), format_duration(r.time_s),
                      first ? "-" : fmt::format("{:+.1f}", 100 * (r.time_s / rows[0]->time_s - 1)),
                      format_number(r.busbw), r.capex_usd > 0 ? cost::dollars(r.capex_usd) : "-",
                      r.power_w > 0 ? cost::rating_text(r.power_w) : "-", way_of(r), same});
  }
  return t;
}

/// The fastest of the algorithms per number of GPUs (rows) and size (columns), on one machine and fabric.
report::Table winners(const CallRows& rows, const questions::CallsAsk& calls) {
  report::Table t{"The fastest algorithm and its time", {"GPUs"}};
  for (const Bytes size : calls.sizes) t.columns.push_back({format_binary_size(count(size))});
  for (std::uint64_t n = calls.from; n <= calls.to; n *= 2) {
    std::vector<std::string> cells{std::to_string(n)};
    for (const Bytes size : calls.sizes) {
      const questions::CallRow* best = nullptr;
      for (const questions::CallRow& r : rows)
        if (r.gpus == n && r.size == size && r.refused.empty() && (best == nullptr || r.time_s < best->time_s))
          best = &r;
      cells.push_back(best == nullptr ? "-" : fmt::format("{} {}", best->algorithm, format_duration(best->time_s)));
    }
    t.rows.push_back(std::move(cells));
  }
  return t;
}

/// Time against the number of GPUs, an algorithm per column.
report::Table times_by_gpus(const CallRows& rows, const questions::CallsAsk& calls, Bytes size) {
  report::Table t{fmt::format("Time of {} by GPUs", format_binary_size(count(size))), {"GPUs"}};
  for (const std::string& a : calls.algorithms) t.columns.push_back({a});
  for (std::uint64_t n = calls.from; n <= calls.to; n *= 2) {
    std::vector<std::string> cells{std::to_string(n)};
    for (const std::string& a : calls.algorithms) {
      const auto at = std::find_if(rows.begin(), rows.end(), [&](const questions::CallRow& r) {
        return r.gpus == n && r.algorithm == a && r.size == size && r.refused.empty();
      });
      cells.push_back(at == rows.end() ? "-" : format_duration(at->time_s));
    }
    t.rows.push_back(std::move(cells));
  }
  return t;
}

/// Time against the number of GPUs, a curve per algorithm.
report::Drawing draw_times(const CallRows& rows, const questions::CallsAsk& calls, Bytes size) {
  constexpr int kColours[] = {report::colour::kCompute, report::colour::kTp, report::colour::kDp, report::colour::kPp,
                              report::colour::kOptimizer};
  report::Chart chart;
  chart.title = fmt::format("Time of {} by GPUs", format_binary_size(count(size)));
  chart.description = "Time of one call against the number of GPUs, a curve per algorithm, both axes logarithmic.";
  chart.x = {"GPUs", report::AxisUnit::kCount, true};
  chart.y = {"time", report::AxisUnit::kSeconds, true};
  for (const std::string& a : calls.algorithms) {
    report::ChartSeries curve{.name = a, .colour = kColours[chart.series.size() % std::size(kColours)]};
    for (const questions::CallRow& r : rows)
      if (r.algorithm == a && r.size == size && r.refused.empty())
        curve.points.push_back({static_cast<double>(r.gpus), r.time_s,
                                fmt::format("{} GPUs, {}: {}", r.gpus, a, format_duration(r.time_s))});
    chart.series.push_back(std::move(curve));
  }
  return report::draw_chart(chart);
}

std::string call_in_words(const std::vector<const questions::CallRow*>& rows, std::size_t i, bool algorithms) {
  return fmt::format("{} ({})", call_name_of(*rows[i], algorithms), questions::letter_of(i));
}

/// Of one size: the shortest time, what ties with it, and how much longer the longest takes. Empty: all are refused.
std::string winner_in_words(collectives::Collective op, const std::vector<const questions::CallRow*>& rows,
                            bool algorithms) {
  std::vector<std::size_t> ran, tied;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i]->refused.empty()) ran.push_back(i);
  if (ran.empty()) return "";
  const auto [best, worst] = std::minmax_element(
      ran.begin(), ran.end(), [&](std::size_t a, std::size_t b) { return rows[a]->time_s < rows[b]->time_s; });
  for (const std::size_t i : ran)
    if (i == *best || ties(*rows[i], *rows[*best])) tied.push_back(i);
  const questions::CallRow& first = *rows[*best];
  std::string out =
      fmt::format("{} of {} takes {} on {}", collectives::name_of(op), format_binary_size(count(first.size)),
                  format_duration(first.time_s), call_in_words(rows, *best, algorithms));
  if (tied.size() == ran.size() && ran.size() > 1)
    return out + ". All tie: they are closer than the band of their difference.";
  if (tied.size() > 1)
    out += ", which ties with " + (tied.size() > 2 ? fmt::format("{} others", tied.size() - 1)
                                                   : call_in_words(rows, tied[tied[0] == *best ? 1 : 0], algorithms));
  if (*worst != *best && first.time_s > 0)
    out += fmt::format(", and {:.2g} times as long on {}", rows[*worst]->time_s / first.time_s,
                       call_in_words(rows, *worst, algorithms));
  return out + ".";
}

void add_map(const CallRows& all, const questions::CallsAsk& calls, report::Document& d) {
  std::vector<std::string> names;  // of machine and fabric, in order
  const auto name = [](const questions::CallRow& r) {
    return r.machine.substr(0, r.machine.find(':')) + " " + r.fabric;
  };
  for (const questions::CallRow& r : all)
    if (std::find(names.begin(), names.end(), name(r)) == names.end()) names.push_back(name(r));
  for (const std::string& one : names) {
    CallRows rows;
    for (const questions::CallRow& r : all)
      if (name(r) == one) rows.push_back(r);
    questions::CallsAsk shown = calls;
    const auto runs = [&](const std::string& a) {
      return std::any_of(rows.begin(), rows.end(),
                         [&](const questions::CallRow& r) { return r.algorithm == a && r.refused.empty(); });
    };
    if (calls.usual) std::erase_if(shown.algorithms, [&](const std::string& a) { return !runs(a); });
    if (names.size() > 1) d.add(report::Heading{one});
    if (calls.sizes.size() > 1) d.add(winners(rows, shown));
    d.add(draw_times(rows, shown, calls.sizes.back()), report::Audience::kPage);
    d.add(times_by_gpus(rows, shown, calls.sizes.back()));
  }
}

}  // namespace

report::Document compare_calls_document(const questions::CompareCalls& found) {
  const CallRows& rows = found.found;
  const questions::CallsAsk& calls = found.asked;
  report::Document d{fmt::format("{} side by side", collectives::name_of(calls.op)), {}, {}};
  if (calls.from > 0) {
    add_map(rows, calls, d);
    return d;
  }
  std::string answer;  // for the last size
  for (const Bytes size : calls.sizes) {
    std::vector<const questions::CallRow*> some;
    for (const questions::CallRow& r : rows)
      if (r.size == size) some.push_back(&r);
    if (some.empty()) continue;
    answer = winner_in_words(calls.op, some, calls.algorithms.size() > 1);
    d.add(size_table(some, calls.algorithms.size() > 1));
  }
  if (!answer.empty() && rows.size() > 1) d.add(report::Highlight{answer});
  return d;
}

}  // namespace busbar::views
