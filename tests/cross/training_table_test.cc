// The step model against data/measured/training.csv: the law of pipelines along measured series, and a few series
// whole. docs/accuracy.md has the errors over all rows.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "busbar/accuracy/summary.h"
#include "busbar/accuracy/validate.h"

namespace busbar {
namespace {

const CsvTable& table() {
  static const CsvTable t = CsvTable::load("data/measured/training.csv").value();
  return t;
}

ScoredRow predict(const std::string& row_id) {
  ValidateOptions options;
  options.only = "row_id=" + row_id;
  auto rows = validate(table(), options);
  EXPECT_TRUE(rows.ok()) << rows.error().text();
  EXPECT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().unsupported, "");
  return rows->front();
}

/// A point of a series: micro-batches per replica and the step.
struct Point {
  double m = 0, measured = 0, predicted = 0;
};
Point point(const std::string& row_id, bool predicted) {
  const std::size_t row = filter_rows(table(), "row_id=" + row_id).value().front();
  const auto number = [&](const char* column) { return table().number(row, column).value().value_or(1); };
  const double m = number("global_batch") / (number("DP") * number("micro_batch")), measured = number("step_time_s");
  return {m, measured, predicted ? predict(row_id).predicted : measured};
}

struct Series {
  std::vector<std::string> rows;
  bool predict = true;  ///< machines of 10,000 GPUs take a test too long
};

// T = (m + (p-1)/v) t + T0: two points give t and T0 (the ramp is a constant), the others must lie on the line.
// Measured steps do within 1 %; so must predicted ones, or the pipeline is wrong. Series: the same stages, more
// micro-batches.
TEST(PipelineLaw, HoldsAlongMeasuredSeriesWithinOnePercent) {
  const Series all[] = {
      {{"1020", "1023", "1021", "1022"}},  // BLOOM on 384 A100, batch 512 to 2048
      {{"1249", "1248", "1242"}, false},   // GPT-3 on 512 to 10,752 H100 (MLPerf v3.1)
      {{"1307", "1303", "1305"}},          // Llama 3.1 405B on 512 to 2,048 GB200 (MLPerf v5.0)
  };
  for (const auto& [rows, predicts] : all) {
    const Point a = point(rows[0], predicts), b = point(rows[1], predicts);
    for (std::size_t i = 2; i < rows.size(); ++i) {
      const Point p = point(rows[i], predicts);
      const auto line = [&](double ya, double yb) { return ya + (yb - ya) / (b.m - a.m) * (p.m - a.m); };
      EXPECT_NEAR(line(a.measured, b.measured) / p.measured, 1, 0.01) << rows[i];
      EXPECT_NEAR(line(a.predicted, b.predicted) / p.predicted, 1, 0.01) << rows[i];
    }
  }
}

// Bounds are wide: they catch a model that broke.
TEST(TrainingTable, SeriesOfEveryKindStayNearTheirMeasurements) {
  struct Case {
    const char* only;
    double mean_percent;
  };
  const Case cases[] = {{"model=Nemotron4-15B,gpus_total<129", 6},
                        {"source_id=mlperf-v5.0-llama31_405b,gpus_total<1025", 6},
                        {"source_id=korthikanti2022-T5,gpus_total<300", 15},
                        {"source_id=mpt-llmfoundry,model=MPT-3b,gpus_total=8,precision=amp_bf16", 10}};
  for (const Case& c : cases) {
    ValidateOptions options;
    options.only = std::string("use=accuracy,") + c.only;
    const auto rows = validate(table(), options);
    ASSERT_TRUE(rows.ok()) << rows.error().text();
    double sum = 0;
    int n = 0;
    for (const ScoredRow& r : *rows) {
      EXPECT_EQ(r.unsupported, "") << r.id;
      if (!r.counts) continue;
      sum += std::abs(r.error_percent());
      ++n;
    }
    ASSERT_GT(n, 1) << c.only;
    fmt::print("{}: mean {:.1f} % of {} configurations\n", c.only, sum / n, n);
    EXPECT_LT(sum / n, c.mean_percent) << c.only;
  }
}

TEST(TrainingTable, RowsThatCannotBePredictedSayWhy) {
  ValidateOptions options;
  options.only = "moe=yes,gpus_total<33";
  const auto rows = validate(table(), options);
  ASSERT_TRUE(rows.ok());
  ASSERT_FALSE(rows->empty());
  for (const ScoredRow& r : *rows)
    EXPECT_TRUE(r.unsupported == "mixture of experts" || r.unsupported == "no step time");
}

TEST(TrainingTable, OfEqualInputsOnlyTheNewestReleaseCounts) {
  ValidateOptions options;
  options.only = "source_id=mbridge-perf,model=Llama3-70B,node=dgx-h100,precision=FP8";
  const auto rows = validate(table(), options);
  ASSERT_TRUE(rows.ok());
  std::vector<std::string> scored;
  for (const ScoredRow& r : *rows)
    if (r.counts) scored.push_back(r.id);
  EXPECT_EQ(scored, std::vector<std::string>{"323"});  // container 26.04.01, before 26.04, 26.02.01 and 26.02
}

}  // namespace
}  // namespace busbar
