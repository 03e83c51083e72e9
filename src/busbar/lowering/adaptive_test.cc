// Collectives under adaptive routing; lists of flows are in flow/flow_list_test.cc.
#include "busbar/lowering/adaptive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/random.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::lowering {
namespace {

/// Sixteen nodes of a GPU and a NIC on four leaves and two spines, the cable from leaf0 to spine0 at `health` of its
/// rate.
topology::Topology leaves_and_spines(double health) {
  topology::FabricSpec spec = topology::test_fabric(topology::FabricKind::kLeafSpine, 8);
  spec.levels[0].parallel = 2;
  topology::TestCluster c = std::move(*topology::test_cluster(spec, topology::test_nics(1, true), 16));
  const topology::Topology& so_far = c.builder.peek();
  for (std::uint32_t l = 0; l < so_far.link_count() && health < 1; l += 2)
    if (so_far.name(topology::LinkId{l}) == "leaf0->spine0") c.builder.degrade(topology::LinkId{l}, health);
  return std::move(c.builder).seal();
}

program::CollectiveCall all_to_all() {
  program::CollectiveCall call = test_call(16, "direct", 1 << 30);
  call.op = collectives::Collective::kAllToAll;
  return call;
}

LoweredCall lowered(const topology::Topology& t, topology::RoutingPolicy policy) {
  const routing::Router router(t, policy);
  const routing::Placement placement(router, t.gpus());
  Lowering lowering(router, placement, {});
  return lowering.lower(all_to_all()).value();
}

TEST(SplitSearch, IsOverAfterOneTrialWhereNothingCanBeGained) {
  const topology::Topology t = leaves_and_spines(1);
  const std::vector<double> load(t.link_count(), 1.0);
  SplitSearch s;
  EXPECT_TRUE(s.bias().empty()) << "equal splits first";
  s.record(t, 10, load, 10);
  EXPECT_TRUE(s.over());
  EXPECT_TRUE(s.improved());
  SplitSearch open;
  open.record(t, 10, load, 9);
  EXPECT_FALSE(open.over());
}

TEST(SplitSearch, KeepsTheBestAndEndsWhateverTheCosts) {
  const topology::Topology t = leaves_and_spines(1);
  RandomStream random(5, "splits");
  for (int i = 0; i < 50; ++i) {
    SplitSearch s;
    double least = INFINITY;
    routing::SplitBias best;
    int trials = 0;
    for (; !s.over(); ++trials) {
      ASSERT_LT(trials, 24);
      std::vector<double> load(t.link_count());
      for (double& l : load) l = random.uniform();
      const double cost = i == 0 ? 100.0 - trials : 1 + random.uniform();
      const routing::SplitBias tried = s.bias();
      s.record(t, cost, load, 0);
      EXPECT_EQ(s.improved(), cost < least * (1 - 1e-4));
      if (s.improved()) least = cost, best = tried;
    }
    EXPECT_EQ(s.best(), best);
    if (i == 0) EXPECT_EQ(trials, 24) << "as long as it helps";
  }
}

// The slow cables carry more than others: their factor falls, and that of no other cable does.
TEST(SplitSearch, LeansAwayFromTheBusiestLink) {
  const topology::Topology t = leaves_and_spines(1);
  std::vector<double> load(t.link_count(), 1.0);
  const auto busy = std::find_if(load.begin(), load.end(), [&](const double& l) {
    return between_switches(t, static_cast<topology::LinkId>(&l - load.data()));
  });
  *busy = 4;
  SplitSearch s;
  s.record(t, 10, load, 1);
  ASSERT_EQ(s.bias().size(), t.link_count());
  const float factor = s.bias()[static_cast<std::size_t>(busy - load.begin())];
  EXPECT_LT(factor, 1);
  for (const float f : s.bias()) EXPECT_GE(f, factor);
}

TEST(Adaptive, AllToAllLeansAwayFromSlowCables) {
  const topology::Topology t = leaves_and_spines(0.25);
  const double spray = closed_form_ps(lowered(t, topology::RoutingPolicy::kSpray));
  const double adaptive = closed_form_ps(lowered(t, topology::RoutingPolicy::kAdaptive));
  // 48 pairs leave leaf0 over four cables, two of them of a quarter of the rate: 12 / 0.25 = 48 on a slow one, or 48
  // / 2.5.
  EXPECT_NEAR(adaptive / spray, 1 / 2.5, 0.02);
}

TEST(Adaptive, WhereNothingIsGainedItIsTheEqualSplitToTheLastBit) {
  const topology::Topology t = leaves_and_spines(1);
  const LoweredCall spray = lowered(t, topology::RoutingPolicy::kSpray),
                    adaptive = lowered(t, topology::RoutingPolicy::kAdaptive);
  EXPECT_EQ(closed_form_ps(adaptive), closed_form_ps(spray));
  EXPECT_EQ(adaptive.stages.at(0).weight, spray.stages.at(0).weight);
}

TEST(Adaptive, ExplainsTheSplitThatItChose) {
  const topology::Topology t = leaves_and_spines(0.25);
  const routing::Router router(t, topology::RoutingPolicy::kAdaptive);
  const routing::Placement placement(router, t.gpus());
  Lowering lowering(router, placement, {});
  for (const char* algorithm : {"ring", "halving_doubling"}) {
    const program::CollectiveCall call = test_call(16, algorithm, 1 << 30);
    const double ps = closed_form_ps(lowering.lower(call).value());
    const std::vector<ChainPart> parts = lowering.explain(call).value();
    EXPECT_NEAR(sum_ps(parts), ps, 1e-6 * ps) << algorithm;
    for (const ChainPart& part : parts) EXPECT_GT(part.rounds, 0u) << algorithm << ": a chain of sends";
  }
}

// A bias away from one of two spines sends nothing over it, for this step only.
TEST(Adaptive, AStepIsThatOfTheWholeCallAndIsSplitAsAsked) {
  const topology::Topology t = leaves_and_spines(1);
  const routing::Router router(t, topology::RoutingPolicy::kAdaptive);
  const routing::Placement placement(router, t.gpus());
  Lowering lowering(router, placement, {}, Shortcuts::none());
  const program::CollectiveCall call = test_call(16, "hierarchical(ring,tree)", 1 << 30);
  const LoweredCall whole = lowering.lower(call).value();
  ASSERT_GT(whole.stages.size(), 1u);
  for (const Stage& stage : whole.stages) {
    const Stage again = lowering.lower_step(call, stage.step, routing::kEqualSplit).value();
    EXPECT_EQ(again.phase, stage.phase);
    EXPECT_EQ(again.weight, stage.weight);
    EXPECT_EQ(again.load_ps, stage.load_ps);
    EXPECT_EQ(again.slowest_alone_ps, stage.slowest_alone_ps);
  }
  EXPECT_FALSE(lowering.lower_step(call, static_cast<std::uint32_t>(whole.stages.back().step + 1), {}).ok());
  routing::SplitBias away(t.link_count(), 1);
  for (std::uint32_t l = 0; l < t.link_count(); ++l)
    if (t.name(topology::LinkId{l}).find("spine0") != std::string::npos) away[l] = 1 / routing::kMostBias;
  const Stage stage = lowering.lower_step(all_to_all(), 0, away).value();
  double over[2] = {0, 0};
  for (const Fluid& f : stage.fluids)
    for (std::uint32_t i = f.begin; i < f.end; ++i) {
      const std::string name = stage.on[i].is_link() ? t.name(stage.on[i].link()) : "";
      for (const int spine : {0, 1})
        if (name.find("->spine" + std::to_string(spine)) != std::string::npos) over[spine] += stage.weight[i] * f.bytes;
    }
  EXPECT_GT(over[1], 0);
  EXPECT_LT(over[0], 1e-3 * over[1]);
  EXPECT_EQ(closed_form_ps(lowering.lower(call).value()), closed_form_ps(whole)) << "the bias is forgotten";
}

TEST(Adaptive, LeavesNoLeanBehind) {
  const topology::Topology t = leaves_and_spines(0.25);
  const routing::Router router(t, topology::RoutingPolicy::kAdaptive);
  const routing::Placement placement(router, t.gpus());
  Lowering lowering(router, placement, {});
  std::vector<routing::LinkShare> before, after;
  ASSERT_TRUE(router.spread(t.gpus()[0], t.gpus()[15], placement.nic(0, 0), placement.nic(15, 0), 1, before).ok());
  ASSERT_TRUE(lowering.lower(all_to_all()).ok());
  ASSERT_TRUE(router.spread(t.gpus()[0], t.gpus()[15], placement.nic(0, 0), placement.nic(15, 0), 1, after).ok());
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].share, after[i].share);
}

}  // namespace
}  // namespace busbar::lowering
