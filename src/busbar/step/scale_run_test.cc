#include "busbar/step/scale_run.h"

#include <gtest/gtest.h>

#include "busbar/base/context.h"
#include "busbar/spec/catalog.h"

namespace busbar::step {
namespace {

spec::Scenario two_servers(std::int64_t tp, std::int64_t batch) {
  spec::ScenarioFlags flags;
  flags.cluster = "dgx-h100:2";
  flags.model = "llama3-8b";
  flags.degrees.tp = tp;
  flags.degrees.micro_batch = 1;
  flags.degrees.global_batch = batch;
  return spec::scenario_from_flags(flags, {}, spec::Catalog()).value();
}

ScaleRun scaled(const spec::Scenario& scenario, const std::string& range, const std::string& kind) {
  TrainAsk ask;
  ask.engine = "analytic";
  return run_scale(scenario, ask, parse_scale(range, kind).value(), Context{}).value();
}

TEST(Scale, WeakScalingKeepsTheWorkOfAGpuAndStrongScalingTheBatch) {
  const ScaleRun run = scaled(two_servers(2, 64), "8..32", "both");
  EXPECT_EQ(run.base_gpus, 16u);
  ASSERT_EQ(run.points.size(), 6u);
  for (const bool weak : {true, false}) {
    std::uint32_t gpus = 8;
    const auto curve = run.curve(weak);
    ASSERT_EQ(curve.size(), 3u);
    for (const ScalePoint* p : curve) {
      EXPECT_EQ(p->layout.ranks(), gpus);
      EXPECT_EQ(p->layout.batch.global, weak ? 64 * gpus / 16 : 64) << gpus;
      EXPECT_EQ(p->breakdown.total(), p->step);
      // Tokens of a step over its time; efficiency is relative to the smallest machine.
      const double rate = p->layout.batch.global * static_cast<double>(p->layout.batch.seq) / p->step.in_s();
      EXPECT_NEAR(p->tokens_per_s(), rate, 1e-9 * rate);
      EXPECT_DOUBLE_EQ(p->efficiency, p->tokens_per_s_per_gpu / curve.front()->tokens_per_s_per_gpu);
      EXPECT_NEAR(p->idle_gpus(), gpus * (1 - p->efficiency), 1e-9);
      EXPECT_EQ(p->tiers, gpus > 8 ? curve[1]->tiers : 0u);  // one server needs no switch of the network
      gpus *= 2;
    }
    EXPECT_GT(curve[1]->tiers, 0u);
  }
}

TEST(Scale, ASizeThatTheLayoutCannotUseIsSkippedWithItsReason) {
  const ScaleRun run = scaled(two_servers(2, 8), "4..32", "strong");
  ASSERT_EQ(run.points.size(), 4u);
  EXPECT_EQ(run.points[0].skipped, "");
  EXPECT_EQ(run.points[2].skipped, "");  // 8 sequences on 8 replicas
  EXPECT_EQ(run.points[3].skipped, "a batch of 8 cannot be divided evenly among so many replicas");
  EXPECT_EQ(run.curve(false).size(), 3u);
  EXPECT_TRUE(run.curve(true).empty());
}

TEST(Scale, ReadsARangeOfSizes) {
  const ScaleAsk both = parse_scale("8..64", "both").value();
  EXPECT_EQ(both.from, 8u);
  EXPECT_EQ(both.to, 64u);
  EXPECT_TRUE(both.weak && both.strong);
  const ScaleAsk weak = parse_scale("8..8", "weak").value(), strong = parse_scale("1..2", "strong").value();
  EXPECT_TRUE(weak.weak && !weak.strong);
  EXPECT_TRUE(strong.strong && !strong.weak);
  for (const char* wrong : {"8", "8..", "..8", "0..8", "8..4", "8..2000000", "a..8"})
    EXPECT_EQ(parse_scale(wrong, "both").error().where.path, "scale") << wrong;
  EXPECT_TRUE(parse_scale("1..1048576", "both").ok());
  EXPECT_EQ(parse_scale("8..64", "sideways").error().where.path, "scaling");
}

/// A point of a weak curve: 100 s a step, of which data parallelism shows `exposed_s`.
ScalePoint point(std::uint32_t gpus, double rate, int exposed_s = 0) {
  ScalePoint p;
  p.layout.tp = p.layout.pp = p.layout.cp = 1;
  p.layout.dp = gpus;
  p.step = Duration::us(100'000'000);
  p.breakdown.exposed_dp = Duration::us(1'000'000) * exposed_s;
  p.tokens_per_s_per_gpu = rate;
  return p;
}

TEST(Scale, CommunicationStopsHidingWhereOnePercentMoreIsExposedThanAtFirst) {
  ScaleRun run;
  run.points = {point(8, 1, 2), point(16, 1, 3), point(32, 1, 4), point(64, 1, 9)};
  EXPECT_EQ(run.stops_hiding(true), 32u);  // 3 % are one more than 2, not more than one more
  EXPECT_EQ(run.stops_hiding(false), 0u);
  EXPECT_DOUBLE_EQ(run.points[3].data_percent(), 9);
  run.points[3].breakdown.exposed_tp = run.points[3].breakdown.exposed_ep = Duration::us(1'000'000);
  run.points[3].breakdown.exposed_pp = run.points[3].breakdown.exposed_cp = Duration::us(2'000'000);
  EXPECT_DOUBLE_EQ(run.points[3].exposed_percent(), 15);
  run.points[3].breakdown.compute = Duration::us(60'000'000);
  run.points[3].breakdown.optimizer = Duration::us(5'000'000);
  EXPECT_DOUBLE_EQ(run.points[3].idle_percent(), 35);
  run.points[2].skipped = "no";
  EXPECT_EQ(run.stops_hiding(true), 64u);
}

TEST(Scale, ARiseOfMoreThanHalfAPercentHasACause) {
  ScalePoint a = point(64, 100), b = point(128, 110);
  b.efficiency = 1.006;
  EXPECT_TRUE(rises(a, b));
  b.efficiency = 1.004;
  EXPECT_FALSE(rises(a, b));

  EXPECT_EQ(cause_of_rise(a, b, 8, nullptr), "");
  const std::pair<ScalePoint, ScalePoint> flat{point(64, 100), point(128, 104)}, alike{point(64, 100), point(128, 106)};
  EXPECT_NE(cause_of_rise(a, b, 8, &flat).find("share cables less at 128 GPUs"), std::string::npos);
  EXPECT_EQ(cause_of_rise(a, b, 8, &alike), "");  // most of the rise is there on all paths too
  a.data_algorithm = "ring";
  b.data_algorithm = "tree";
  EXPECT_EQ(cause_of_rise(a, b, 8, nullptr),
            "the largest exposed call of data parallelism runs as tree instead of ring");
  a.in_last = 4;
  b.in_last = 8;
  EXPECT_NE(cause_of_rise(a, b, 8, nullptr).find("uses 8 instead of 4 of the 8 GPUs"), std::string::npos);
  EXPECT_NE(cause_of_rise(a, b, 64, nullptr).find("tree instead of ring"),
            std::string::npos);  // one server has no last
}

}  // namespace
}  // namespace busbar::step
