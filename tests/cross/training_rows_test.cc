// The step model compared with thirteen published runs: data/measured/training_rows.csv. The bounds are wide, to detect
// a broken model; docs/accuracy.md gives the accuracy.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "busbar/spec/scenario.h"
#include "busbar/step/train_run.h"

namespace busbar {
namespace {

struct StepRow {
  std::string source, model, cluster, recompute, use;
  std::uint32_t vocab = 0, tp = 0, pp = 0, vpp = 0, dp = 0, seq = 0, micro_batch = 0, global_batch = 0;
  bool overlap_tp = false;
  double step_time_s = 0;
};

std::vector<StepRow> read_rows() {
  std::ifstream file("data/measured/training_rows.csv");
  std::vector<StepRow> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> c;
    std::stringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) c.push_back(cell);
    const auto n = [&](std::size_t i) { return static_cast<std::uint32_t>(std::stoul(c[i])); };
    rows.push_back({c[0], c[1], c[3], c[12], c[15], n(2), n(5), n(6), n(7), n(8), n(9), n(10), n(11), c[13] == "true",
                    std::stod(c[14])});
  }
  return rows;
}

Result<double> predict_s(const StepRow& row) {
  spec::ScenarioFlags flags;
  flags.cluster = row.cluster;
  flags.model = row.model;
  spec::LayoutFlags& l = flags.degrees;
  l = {.tp = row.tp, .pp = row.pp, .vpp = row.vpp, .dp = row.dp, .seq = row.seq};
  l.micro_batch = row.micro_batch;
  l.global_batch = row.global_batch;
  l.recompute = row.recompute == "none" ? "none" : "selective";
  spec::Overrides overrides;
  overrides.set = {fmt::format("model.vocab={}", row.vocab), fmt::format("layout.overlap.tp={}", row.overlap_tp)};
  BUSBAR_ASSIGN(spec::Scenario scenario, spec::scenario_from_flags(flags, overrides, spec::Catalog()));
  step::Ask ask;
  ask.engine = "analytic";
  ask.timeline = ask.scaling = false;
  BUSBAR_ASSIGN(const step::Prediction run, step::predict(std::move(scenario), ask));
  return run.step.step_time.in_s();
}

TEST(TrainingRows, PredictionsStayNearPublishedRuns) {
  const std::vector<StepRow> rows = read_rows();
  ASSERT_GE(rows.size(), 10u);
  double worst = 0, sum = 0;
  int held_out = 0;
  for (const StepRow& row : rows) {
    const auto predicted = predict_s(row);
    ASSERT_TRUE(predicted.ok()) << predicted.error().text();
    const double error = *predicted / row.step_time_s - 1;
    fmt::print("{:15} {:14} tp {} pp {} vpp {:2} dp {:4}: {:6.3f} s, measured {:6.3f} s, {:+5.1f} % ({})\n", row.model,
               row.cluster, row.tp, row.pp, row.vpp, row.dp, *predicted, row.step_time_s, 100 * error, row.use);
    const bool h100 = row.cluster.starts_with("dgx-h100");
    EXPECT_LT(std::abs(error), h100 ? 0.15 : 0.35) << row.source;
    if (row.use == "calibration" || !h100) continue;
    worst = std::max(worst, std::abs(error));
    sum += std::abs(error);
    ++held_out;
  }
  fmt::print("held-out H100 rows: mean {:.1f} %, worst {:.1f} %\n", 100 * sum / held_out, 100 * worst);
  EXPECT_LT(sum / held_out, 0.10);
}

/// In a series only the number of replicas changes, so the network must explain the differences.
TEST(TrainingRows, ScalingInsideASeriesIsWithinFourPercent) {
  const StepRow* first = nullptr;
  double predicted_first = 0;
  const std::vector<StepRow> rows = read_rows();
  for (const StepRow& row : rows) {
    if (row.model != "nemotron4-15b") continue;
    const double predicted = predict_s(row).value();
    if (first == nullptr) {
      first = &row;
      predicted_first = predicted;
      continue;
    }
    const double measured_ratio = row.step_time_s / first->step_time_s;
    EXPECT_NEAR(predicted / predicted_first, measured_ratio, 0.04) << row.cluster;
  }
  ASSERT_NE(first, nullptr);
}

}  // namespace
}  // namespace busbar
