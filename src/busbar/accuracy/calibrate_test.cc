#include "busbar/accuracy/calibrate.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace busbar::accuracy {
namespace {

using ::testing::HasSubstr;

ExpectOptions calibrating(const char* cluster, collectives::Collective op = collectives::Collective::kAllReduce) {
  ExpectOptions o;
  o.cluster = cluster;
  o.op = op;
  return o;
}

double us_of(predict::Predictor& machine, collectives::Collective op, std::uint64_t size) {
  return machine.time(predict::call_over(op, Bytes{size}, machine.ranks()), predict::kTimeAlone)->time.in_us();
}

Result<Calibration> calibrated(const MeasuredResults& results, const ExpectOptions& options) {
  return calibrate({{"r.txt", results, options}});
}

/// A table with `factor` times the predicted times plus `more_us`, 8 B to 16 GiB.
MeasuredResults table_of(const ExpectOptions& o, double factor, double more_us = 0) {
  auto machine = predictor_of(o, o.overrides).value();
  MeasuredResults out;
  for (std::uint64_t size = 8; size <= std::uint64_t{16} << 30; size *= 32)
    out.rows.push_back({size, factor * us_of(*machine, o.op, size) + more_us});
  return out;
}

/// The least factor that physics and the floors of the chosen schedules allow, but at least 0.8.
double least_factor(const ExpectOptions& o) {
  auto machine = predictor_of(o, o.overrides).value();
  double out = 0.8;
  for (const MeasuredResult& m : table_of(o, 1).rows) {
    const program::CollectiveCall call = predict::call_over(o.op, Bytes{m.size_bytes}, machine->ranks());
    const double floor_us =
        std::max(machine->floor(call).time.in_us(), machine->time(call, predict::kTimeAlone)->algorithm_floor.in_us());
    out = std::max(out, 1.02 * floor_us / m.us);
  }
  return out;
}

TEST(Calibrate, ATableThatIsAFactorOffGivesAMachineThatPredictsIt) {
  for (const char* cluster : {"dgx-h100", "dgx-a100:4", "dgx-1v", "rtx4090-pcie", "mi300x-8:2"})
    for (const collectives::Collective op : {collectives::Collective::kAllReduce, collectives::Collective::kAllToAll}) {
      const ExpectOptions o = calibrating(cluster, op);
      const double least = least_factor(o);
      for (const double k : {least, 1.5}) {
        SCOPED_TRACE(fmt::format("{} {} {}", cluster, collectives::name_of(op), k));
        const MeasuredResults table = table_of(o, k);
        const auto c = calibrated(table, o);
        ASSERT_TRUE(c.ok()) << c.error().text();
        ASSERT_EQ(c->verdict, CalibrationVerdict::kFits) << c->why;
        auto fitted = predictor_on(o, spec::parse_cluster(c->overlay, "overlay.yaml").value()).value();
        for (const MeasuredResult& m : table.rows) {
          const auto p =
              fitted->time(predict::call_over(op, Bytes{m.size_bytes}, fitted->ranks()), predict::kTimeAlone);
          ASSERT_TRUE(p.ok()) << p.error().text();
          EXPECT_NEAR(p->time.in_us() / m.us, 1, 0.03) << m.size_bytes;
        }
      }
    }
}

TEST(Calibrate, LaterLaunchesAndSlowerLinksAreToldApart) {
  const ExpectOptions o = calibrating("dgx-a100");
  const MeasuredResults table = table_of(o, 1.1, 8);
  const auto c = calibrated(table, o);
  ASSERT_TRUE(c.ok()) << c.error().text();
  EXPECT_EQ(c->verdict, CalibrationVerdict::kFits) << c->why;
  EXPECT_NEAR(c->share, 1 / 1.1, 0.01);
  EXPECT_LT(c->after_percent, 3);
}

TEST(Calibrate, OneOddSizeMovesNothing) {
  const ExpectOptions o = calibrating("dgx-a100:2");
  MeasuredResults table = table_of(o, 1.2);
  table.rows[3].us *= 3;
  const auto c = calibrated(table, o);
  ASSERT_TRUE(c.ok()) << c.error().text();
  EXPECT_EQ(c->verdict, CalibrationVerdict::kFits) << c->why;
  EXPECT_NEAR(c->share, 1 / 1.2, 0.01);
  EXPECT_LT(c->after_percent, 3);
}

TEST(Calibrate, TheOverlayIsTheWholeMachineWithItsFlags) {
  ExpectOptions o = calibrating("dgx-h100:2");
  o.overrides.set = {"fabric.network=roce-400g"};
  o.overrides.degrade = {"node0.nic0=0.5"};
  const auto c = calibrated(table_of(o, 1.1), o);
  ASSERT_TRUE(c.ok()) << c.error().text();
  const auto cluster = spec::parse_cluster(c->overlay, "overlay.yaml");
  ASSERT_TRUE(cluster.ok()) << cluster.error().text();
  EXPECT_EQ(cluster->topology.damage().size(), 1u);
  EXPECT_EQ(cluster->topology.gpus().size(), 16u);
  EXPECT_THAT(cluster->fabric.network, HasSubstr("RoCE"));
}

TEST(Calibrate, AMachineAtHalfItsBandwidthIsBrokenAndGetsNoOverlay) {
  const ExpectOptions o = calibrating("dgx-a100");
  const auto c = calibrated(table_of(o, 2), o);
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c->verdict, CalibrationVerdict::kBroken);
  EXPECT_EQ(c->overlay, "");
}

TEST(Calibrate, AMachineBelowItsBandFitsAndIsCalledSlow) {
  const ExpectOptions o = calibrating("dgx-a100");
  const auto slow = calibrated(table_of(o, 1 / 0.7), o), sound = calibrated(table_of(o, 1), o);
  ASSERT_TRUE(slow.ok() && sound.ok());
  EXPECT_EQ(slow->verdict, CalibrationVerdict::kFits);
  EXPECT_THAT(slow->why, HasSubstr("slower than comparable machines"));
  EXPECT_THAT(sound->why, testing::Not(HasSubstr("slower")));
}

TEST(Calibrate, TimesBelowTheFloorDoNotFit) {
  const ExpectOptions o = calibrating("dgx-h100:2");
  auto machine = predictor_of(o, {}).value();
  MeasuredResults table = table_of(o, 1);
  table.rows.back().us =
      0.97 * machine->floor(predict::call_over(o.op, Bytes{table.rows.back().size_bytes}, 16)).time.in_us();
  table.rows = {table.rows.back()};
  const auto c = calibrated(table, o);
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c->verdict, CalibrationVerdict::kDoesNotFit);
  EXPECT_THAT(c->why, HasSubstr("faster than physics"));
  EXPECT_EQ(c->overlay, "");
}

TEST(Calibrate, EnginesAndStepsTakeTheMeasuredTimes) {
  const ExpectOptions o = calibrating("dgx-h100:2");
  const auto c = calibrated(table_of(o, 1.3), o);
  ASSERT_TRUE(c.ok());
  const program::CollectiveCall call = predict::call_over(o.op, Bytes{1 << 28}, 16);
  std::vector<double> us;
  for (const char* engine : {"analytic", "flow"}) {
    ExpectOptions with = o;
    with.engine = engine;
    auto machine = predictor_on(with, spec::parse_cluster(c->overlay, "overlay.yaml").value()).value();
    us.push_back(machine->time(call, predict::kTimeAlone)->time.in_us());
    EXPECT_FALSE(machine->time(call, {.explain = true})->chain.empty());
    EXPECT_NEAR(machine->time(call, {.explain = true})->time.in_us(), us.back(), 1e-3);
  }
  EXPECT_NEAR(us[0], us[1], 1e-3);
  EXPECT_NEAR(us[0], 1.3 * us_of(*predictor_of(o, {}).value(), o.op, 1 << 28), 0.05 * us[0]);
}

TEST(Calibrate, ATableIsUsedForThePartThatFits) {
  const ExpectOptions o = calibrating("dgx-h100:2");
  MeasuredResults table = table_of(o, 1.1);
  table.rows.back().us *= 0.1;
  const auto c = calibrated(table, o);
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c->verdict, CalibrationVerdict::kFits);
  ASSERT_EQ(c->tables.size(), 1u);
  EXPECT_EQ(c->tables[0].used, table.rows.size() - 1);
  ASSERT_EQ(c->tables[0].unused.size(), 1u);
  EXPECT_EQ(c->tables[0].unused[0].size_bytes, std::vector<std::uint64_t>{table.rows.back().size_bytes});
  EXPECT_THAT(c->tables[0].unused[0].why, HasSubstr("physics"));
}

TEST(Calibrate, TablesOfOneCallThatDifferAreNamed) {
  const ExpectOptions o = calibrating("dgx-h100:2");
  const auto c = calibrate({{"a.txt", table_of(o, 1), o}, {"b.txt", table_of(o, 1.5), o}});
  ASSERT_TRUE(c.ok());
  ASSERT_FALSE(c->contradictions.empty());
  EXPECT_THAT(c->contradictions[0], HasSubstr("in b.txt"));
}

TEST(Calibrate, FewerRanksAreTheFirstGpusAndMoreAreNamed) {
  const ExpectOptions o = calibrating("dgx-h100:2");
  MeasuredResults one = table_of(calibrating("dgx-h100"), 1.1), four = table_of(calibrating("dgx-h100:4"), 1.1);
  one.ranks = 8, four.ranks = 32;
  const auto c = calibrate({{"one.txt", one, o}, {"four.txt", four, o}});
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c->tables[0].ranks, 8u);
  EXPECT_EQ(c->tables[0].used, one.rows.size());
  EXPECT_EQ(c->tables[1].used, 0u);
  EXPECT_THAT(c->tables[1].unused[0].why, HasSubstr("32 ranks"));
}

TEST(Calibrate, ResultsOfAnotherNumberOfRanksAreRefused) {
  const ExpectOptions o = calibrating("dgx-a100");
  MeasuredResults table = table_of(o, 1);
  table.ranks = 16;
  EXPECT_THAT(calibrated(table, o).error().text(), HasSubstr("16 ranks"));
}

TEST(Calibrate, ACalibratedFileCanBeCalibratedAgain) {
  const ExpectOptions o = calibrating("dgx-a100");
  auto first = calibrated(table_of(o, 1.2), o);
  ASSERT_TRUE(first.ok());
  const std::string file = testing::TempDir() + "calibrated_again." + std::to_string(::getpid()) + ".yaml";
  FILE* f = std::fopen(file.c_str(), "w");
  ASSERT_NE(f, nullptr);
  std::fputs(first->overlay.c_str(), f);
  std::fclose(f);
  const auto second = calibrated(table_of(o, 1.2), calibrating(file.c_str()));
  ASSERT_TRUE(second.ok()) << second.error().text();
  EXPECT_LT(second->before_percent, 3);
  std::remove(file.c_str());
}

}  // namespace
}  // namespace busbar::accuracy
