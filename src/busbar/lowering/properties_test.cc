// What holds of lowered calls on any machine.
#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/base/random.h"
#include "busbar/lowering/random_cluster.h"
#include "busbar/lowering/test_lowered.h"

namespace busbar::lowering {
namespace {

program::CollectiveCall random_call(RandomStream& random, std::uint32_t gpus) {
  const char* const algorithms[] = {"ring",     "tree",  "hierarchical", "halving_doubling", "pat", "bruck", "direct",
                                    "pairwise", "sharp", "torus"};
  const collectives::Collective ops[] = {collectives::Collective::kAllReduce,     collectives::Collective::kAllGather,
                                         collectives::Collective::kReduceScatter, collectives::Collective::kBroadcast,
                                         collectives::Collective::kReduce,        collectives::Collective::kAllToAll};
  program::CollectiveCall call = test_call(gpus, algorithms[random.below(10)], 1 + (kGiB >> random.below(30)),
                                           1 + 3 * static_cast<std::uint32_t>(random.below(2)));
  call.op = ops[random.below(6)];
  call.channels = static_cast<std::uint32_t>(random.below(3));
  return call;
}

void expect_equal(const LoweredCall& a, const LoweredCall& b) {
  EXPECT_EQ(a.channels, b.channels);
  EXPECT_EQ(a.chunks, b.chunks);
  EXPECT_EQ(a.launch_ps, b.launch_ps);
  EXPECT_EQ(a.algorithm_floor_ps, b.algorithm_floor_ps);
  ASSERT_EQ(a.stages.size(), b.stages.size());
  for (std::size_t s = 0; s < a.stages.size(); ++s) {
    const Stage &x = a.stages[s], &y = b.stages[s];
    EXPECT_EQ(x.on, y.on);
    EXPECT_EQ(x.weight, y.weight);
    EXPECT_EQ(x.load_ps, y.load_ps);
    EXPECT_EQ(x.slowest_alone_ps, y.slowest_alone_ps);
    EXPECT_EQ(x.latency_ps, y.latency_ps);
    EXPECT_EQ(x.busiest, y.busiest);
    EXPECT_EQ(x.phase, y.phase);
    ASSERT_EQ(x.fluids.size(), y.fluids.size());
    for (std::size_t f = 0; f < x.fluids.size(); ++f) EXPECT_EQ(x.fluids[f].alone_ps, y.fluids[f].alone_ps);
  }
}

TEST(AnyMachine, LowersACallAlikeWhateverWasLoweredBefore) {
  RandomStream random(21, "calls in turn");
  std::uint32_t compared = 0;
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    const TestNetwork m(random_machine(random));
    std::vector<LinkDelay> delays;
    if (random.below(3) == 0) delays.push_back({topology::LinkId{0}, 0.1, Duration::us(20)});
    Lowering used(m.router, m.placement, some_protocol());
    used.set_delays(delays);
    for (int k = 0; k < 8; ++k) {
      const program::CollectiveCall call = random_call(random, m.gpus());
      SCOPED_TRACE(call.algorithm);
      Lowering fresh(m.router, m.placement, some_protocol());
      fresh.set_delays(delays);
      const Result<LoweredCall> expected = fresh.lower(call), found = used.lower(call);
      ASSERT_EQ(found.ok(), expected.ok());
      if (!found.ok()) continue;
      ++compared;
      expect_equal(*found, *expected);
    }
  }
  EXPECT_GT(compared, 150u);
}

// No fluid outruns its own links, no stage its busiest one, and no call the bound that is known without routes.
TEST(AnyMachine, TakesNoLessThanItsBusiestLinkAndItsChainOfSends) {
  RandomStream random(22, "bounds");
  std::uint32_t compared = 0, bounded = 0;
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    const TestNetwork m(random_machine(random));
    Lowering lowering(m.router, m.placement, some_protocol());
    const program::CollectiveCall call = random_call(random, m.gpus());
    SCOPED_TRACE(call.algorithm);
    const Result<LoweredCall> lowered = lowering.lower(call);
    if (!lowered.ok()) continue;
    ++compared;
    const double ps = closed_form_ps(*lowered), least_ps = lowering.least_ps(call);
    EXPECT_LE(least_ps, ps * (1 + 1e-9));
    EXPECT_LE(lowered->algorithm_floor_ps, ps * (1 + 1e-9));
    bounded += least_ps > 0;
    for (const Stage& s : lowered->stages) {
      std::vector<double> load_ps(m.topology.link_count(), 0.0);
      for (const Fluid& f : s.fluids) {
        EXPECT_LE(f.alone_ps, s.slowest_alone_ps);
        for (std::uint32_t k = f.begin; k < f.end; ++k) {
          const double own_ps = s.weight[k] * f.bytes / lowering.capacities().rate(s.on[k]);
          EXPECT_LE(own_ps, (f.alone_ps + s.latency_ps) * (1 + 1e-9));
          if (s.on[k].is_link()) load_ps[index(s.on[k].link())] += own_ps;
        }
      }
      const double most = *std::max_element(load_ps.begin(), load_ps.end());
      EXPECT_GE(s.load_ps, most * (1 - 1e-9));
      EXPECT_LT(index(s.busiest), m.topology.link_count());
    }
  }
  EXPECT_GT(compared, 80u);
  EXPECT_GT(bounded, 30u);
}

// Of few bytes on links without latency, only the launch and the sends in a row take time.
TEST(LeastTimes, AreTheTimesOfCallsWithoutBytesAndLatencies) {
  const TestNetwork m(single_gpu_nodes(8, 1).seal());
  program::ProtocolModel p;
  p.launch = Duration::us(7);
  p.step_scale_up = p.step_server = Duration::us(5);
  p.step_network = Duration::us(3);
  for (const auto& [algorithm, sends] : {std::pair("ring", 14), {"halving_doubling", 6}}) {
    Lowering lowering(m.router, m.placement, p);
    const program::CollectiveCall call = test_call(8, algorithm, 8);
    EXPECT_NEAR(lowering.least_ps(call) * 1e-6, 7 + 3 * sends, 1e-6) << algorithm;
    EXPECT_NEAR(closed_form_ps(lowering.lower(call).value()) * 1e-6, 7 + 3 * sends, 0.01) << algorithm;
  }
  Lowering lowering(m.router, m.placement, p);
  EXPECT_EQ(lowering.least_ps(test_call(8, "ring", 0)), 0);
  EXPECT_EQ(lowering.least_ps(test_call(8, "nosuch", 8)), 0);
  EXPECT_EQ(lowering.least_ps(test_call(8, "tree", 8, 2)), 0) << "phases overlap";
}

// Of few bytes, each send of a ring crosses two links of 0.5 us; the bound knows the first.
TEST(LeastTimes, CountTheLatencyOfTheLinkThatLeavesTheGpu) {
  program::ProtocolModel p;
  p.step_scale_up = p.step_server = p.step_network = Duration::us(5);
  const TestNetwork m(one_switch(8).seal());
  Lowering lowering(m.router, m.placement, p);
  program::CollectiveCall call = test_call(8, "ring", 8);
  const double launch_us = p.launch.in_us();
  EXPECT_NEAR(lowering.least_ps(call) * 1e-6, launch_us + 14 * 5.5, 1e-6);
  EXPECT_NEAR(closed_form_ps(lowering.lower(call).value()) * 1e-6, launch_us + 14 * 6, 0.01);
  lowering.set_what_if({{0}, 1.0, 0.2, {}});
  EXPECT_NEAR(lowering.least_ps(call) * 1e-6, launch_us + 14 * 5.1, 1e-6) << "of the links as they would be";
  call.slowdown = 0.5;
  EXPECT_LE(lowering.least_ps(call), closed_form_ps(lowering.lower(call).value()));
}

}  // namespace
}  // namespace busbar::lowering
