// The step model compared with whole series of data/measured/training.csv. docs/accuracy.md has the errors of all rows.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "busbar/accuracy/leave_out.h"
#include "busbar/accuracy/summary.h"
#include "busbar/accuracy/validate.h"

namespace busbar {
namespace {

const CsvTable& table() {
  static const CsvTable t = CsvTable::load("data/measured/training.csv").value();
  return t;
}

// The bounds are wide, to detect a broken model.
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
    accuracy::ValidateOptions options;
    options.only = std::string("use=accuracy,") + c.only;
    const auto rows = accuracy::validate(table(), options);
    ASSERT_TRUE(rows.ok()) << rows.error().text();
    double sum = 0;
    int n = 0;
    for (const accuracy::ScoredRow& r : *rows) {
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
  accuracy::ValidateOptions options;
  options.only = "moe=yes,use=none,gpus_total<33";
  const auto rows = accuracy::validate(table(), options);
  ASSERT_TRUE(rows.ok());
  ASSERT_FALSE(rows->empty());
  for (const accuracy::ScoredRow& r : *rows)
    if (r.model.starts_with("Nemotron")) EXPECT_EQ(r.unsupported, "layers is not known");
}

TEST(TrainingTable, EveryMoeRowOfTheTableThatCountsIsPredicted) {
  accuracy::ValidateOptions options;
  options.only = "use=accuracy,moe=yes";
  const auto rows = accuracy::validate(table(), options);
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  ASSERT_EQ(rows->size(), 75u);
  for (const accuracy::ScoredRow& r : *rows) EXPECT_EQ(r.unsupported, "") << r.id;
  const accuracy::ErrorSummary e = accuracy::summarise(*rows).by_layers.at("experts");
  fmt::print("experts: mean {:.1f} %, p90 {:.1f} % of {}\n", e.mean_abs_percent, e.p90_abs_percent, e.configurations);
  EXPECT_EQ(e.configurations, 41u);
  EXPECT_LT(e.mean_abs_percent, 16);
  std::vector<accuracy::ScoredRow> with_nics =
      *rows;  // most of seven configurations on slices of TPUs are 20 to 37 % off
  std::erase_if(with_nics, [](const accuracy::ScoredRow& r) { return r.gpu.starts_with("tpu"); });
  EXPECT_LT(accuracy::summarise(with_nics).by_layers.at("experts").mean_abs_percent, 14);
}

// Two small models: the one left out is predicted with the launch that suits the other.
TEST(TrainingTable, AModelThatIsLeftOutHasTheLaunchOfTheOthers) {
  accuracy::ValidateOptions options;
  options.only = "use=accuracy,gpus_total<17,precision!=MXFP8";
  const auto left = accuracy::leave_models_out(table(), options);
  ASSERT_TRUE(left.ok()) << left.error().text();
  ASSERT_EQ(left->models.size(), 2u);
  std::size_t all = 0;
  for (const accuracy::LeftOut& m : left->models) {
    all += m.with.configurations;
    EXPECT_EQ(m.without.configurations, m.with.configurations);
    if (m.launch == Duration::us(20)) EXPECT_EQ(m.without.mean_abs_percent, m.with.mean_abs_percent);
  }
  EXPECT_EQ(left->all.configurations, all);
}

// Grok-1 on 512 H100: rows 551 (2024: no overlap of TP, experts cut over TP) and 809 (2025) have the same columns.
TEST(TrainingTable, RunsWithOtherRecipesArePredictedApart) {
  accuracy::ValidateOptions options;
  options.only = "use=accuracy,model=Grok1-314B,gpus_total=512,precision=fp8";
  const auto rows = accuracy::validate(table(), options);
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->at(0).configuration, rows->at(1).configuration);
  EXPECT_GT(rows->at(0).predicted, 1.05 * rows->at(1).predicted);
}

TEST(TrainingTable, OfEqualInputsOnlyTheNewestReleaseCounts) {
  accuracy::ValidateOptions options;
  options.only = "source_id=mbridge-perf,model=Llama3-70B,node=dgx-h100,precision=FP8";
  const auto rows = accuracy::validate(table(), options);
  ASSERT_TRUE(rows.ok());
  std::vector<std::string> scored;
  for (const accuracy::ScoredRow& r : *rows)
    if (r.counts) scored.push_back(r.id);
  EXPECT_EQ(scored, std::vector<std::string>{"370"});  // the last row of 26.04, after 26.02
}

}  // namespace
}  // namespace busbar
