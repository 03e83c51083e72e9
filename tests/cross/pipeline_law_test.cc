// T = (m + (p-1)/v) t + T0: with fixed stages, a step is a linear function of the micro-batches m of a replica, because
// the ramp (p-1)/v t is constant. For every series of data/measured/training.csv, the rows between its ends must be on
// the line through the ends, as measured and as predicted. docs/accuracy.md has the table that this prints.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "busbar/accuracy/validate.h"

namespace busbar {
namespace {

struct Row {
  std::string id;
  double m = 0, measured = 0, gpus = 0;
  bool recalled = false;  ///< confidence C: typed from memory
  double predicted = 0;
};
using Series = std::vector<Row>;

/// Rows that differ only in replicas and batch.
std::map<std::string, Series> all_series(const CsvTable& t) {
  std::map<std::string, Series> out;
  for (std::size_t r = 0; r < t.rows(); ++r) {
    const auto number = [&](const char* column) { return t.number(r, column).value().value_or(0); };
    if (t.cell(r, "layout_complete") != "yes" || t.cell(r, "moe") != "no" || number("PP") < 2) continue;
    if (number("DP") * number("micro_batch") * number("step_time_s") * number("global_batch") <= 0) continue;
    std::string key = t.cell(r, "source_id") + ' ' + t.cell(r, "model");
    for (const char* same : {"node", "TP", "PP", "VPP", "CP", "seq_len", "micro_batch", "precision", "recompute",
                             "overlap", "framework", "zero_fsdp", "layers", "fabric", "nics_per_node"})
      key += ';' + t.cell(r, same);
    out[key].push_back({t.cell(r, "row_id"), number("global_batch") / (number("DP") * number("micro_batch")),
                        number("step_time_s"), number("gpus_total"), t.cell(r, "confidence") == "C"});
  }
  std::erase_if(out, [](const auto& s) {
    const auto& [least, most] =
        std::minmax_element(s.second.begin(), s.second.end(), [](const Row& a, const Row& b) { return a.m < b.m; });
    return std::none_of(s.second.begin(), s.second.end(),
                        [least = least, most = most](const Row& r) { return r.m > least->m && r.m < most->m; });
  });
  for (auto& [key, s] : out) std::stable_sort(s.begin(), s.end(), [](const Row& a, const Row& b) { return a.m < b.m; });
  return out;
}

/// The largest deviation of a row from the line through the ends, in %; without rows between: 0.
double worst_percent(const Series& s, double Row::*step) {
  double worst = 0;
  for (const Row& r : s) {
    if (r.m == s.front().m || r.m == s.back().m) continue;
    const Row &a = s.front(), &b = s.back();
    const double line = a.*step + (b.*step - a.*step) / (b.m - a.m) * (r.m - a.m);
    worst = std::max(worst, 100 * std::abs(line / (r.*step) - 1));
  }
  return worst;
}

Series predicted(const CsvTable& t, const Series& measured) {
  Series out;
  for (Row r : measured) {
    accuracy::ValidateOptions options;
    options.only = "row_id=" + r.id;
    const auto rows = accuracy::validate(t, options);
    EXPECT_TRUE(rows.ok() && rows->size() == 1 && rows->front().unsupported.empty()) << r.id;
    r.predicted = rows->front().predicted;
    out.push_back(std::move(r));
  }
  return out;
}

TEST(PipelineLaw, HoldsAlongEveryMeasuredSeriesWithinTwoPercent) {
  const CsvTable table = CsvTable::load("data/measured/training.csv").value();
  const auto series = all_series(table);
  EXPECT_GE(series.size(), 8u);
  for (const auto& [key, s] : series) {
    const bool recalled = std::any_of(s.begin(), s.end(), [](const Row& r) { return r.recalled; });
    const Series p = predicted(table, s);
    const double measured_off = worst_percent(s, &Row::measured), predicted_off = worst_percent(p, &Row::predicted);
    fmt::print("{}: {} rows, {:.0f} to {:.0f} micro-batches: measured {:.2f} %, predicted {:.2f} %{}\n",
               key.substr(0, key.find(';')), s.size(), s.front().m, s.back().m, measured_off, predicted_off,
               recalled ? ", recalled" : "");
    if (!recalled) EXPECT_LT(measured_off, 2) << key;             // figures from memory need not be on a line
    const bool hashed = key.find(";roce;") != std::string::npos;  // other replicas, other collisions
    EXPECT_LT(predicted_off, hashed ? 2 : 1) << key;
  }
}

// A check of the test: it detects a series with a bend.
TEST(PipelineLaw, ABentSeriesWouldBeSeen) {
  Series s{{"a", 10, 1}, {"b", 20, 2.05}, {"c", 30, 3}};
  EXPECT_NEAR(worst_percent(s, &Row::measured), 2.44, 0.01);
  s[1].measured = 2;
  EXPECT_DOUBLE_EQ(worst_percent(s, &Row::measured), 0);
}

}  // namespace
}  // namespace busbar
