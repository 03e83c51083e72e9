// Explanations compared with closed forms.
#include "busbar/choice/relief.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "busbar/collectives/builders.h"
#include "busbar/lowering/channels.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/random_machine.h"

namespace busbar::choice {
namespace {

std::vector<Relief> relief_of(const topology::Topology& t, const program::CollectiveCall& call) {
  const routing::Router r(t, topology::RoutingPolicy::kStatic);
  const routing::Placement p(r, t.gpus());
  return find_relief(r, p, {}, call, true).value();
}

const Relief* find(const std::vector<Relief>& relief, const std::string& what) {
  for (const Relief& r : relief)
    if (r.what == what) return &r;
  return nullptr;
}

std::vector<lowering::ChainPart> chain_of(const topology::Topology& t, const program::CollectiveCall& call,
                                          const program::ProtocolModel& protocol = {}) {
  const routing::Router r(t, topology::RoutingPolicy::kStatic);
  const routing::Placement p(r, t.gpus());
  return lowering::Lowering(r, p, protocol).explain(call).value();
}

double kind_us(const std::vector<lowering::ChainPart>& parts, lowering::ChainPartKind kind) {
  double us = 0;
  for (const lowering::ChainPart& p : parts) us += p.kind == kind ? p.ps * 1e-6 : 0;
  return us;
}

TEST(Relief, OfTheBusiestLinkOfALargeRingIsOneEleventh) {
  const auto relief = relief_of(lowering::one_switch(8).seal(), lowering::test_call(8, "ring", std::uint64_t{1} << 36));
  const Relief* rate = find(relief, "+10 % rate of nvlink, gpu-nvswitch");
  ASSERT_NE(rate, nullptr);
  EXPECT_NEAR(rate->gain_percent, 100 * (1 - 1 / 1.1), 0.01);
  EXPECT_EQ(relief.front().what, rate->what) << "the largest gain comes first";
}

TEST(Relief, OfASmallRingIsItsLatency) {
  // 14 rounds of 2 x 0.5 us; with one microsecond less per link no latency is left
  const auto relief = relief_of(lowering::one_switch(8).seal(), lowering::test_call(8, "ring", 8));
  EXPECT_EQ(relief.front().what, "1 us less latency of nvlink, gpu-nvswitch");
  EXPECT_GT(relief.front().gain_percent, 99.9);
  EXPECT_LT(find(relief, "+10 % rate of nvlink, gpu-nvswitch")->gain_percent, 0.01);
}

TEST(Relief, SaysWhichLimitComesNext) {
  // Between nodes of 8: 2 x 7/8 S over 450 GB/s inside, 2 (n - 1)/n S/8 over 50 GB/s outside, n nodes.
  const auto relief =
      relief_of(lowering::pods_of_eight(4).seal(), lowering::test_call(32, "hierarchical", std::uint64_t{1} << 36));
  const Relief* cables = find(relief, "+10 % rate of infiniband, nic-leaf");
  ASSERT_NE(cables, nullptr);
  const double inside = 1.75 / 450, outside = 1.5 / 8 / 50;
  EXPECT_NEAR(cables->gain_percent, 100 * outside * (1 - 1 / 1.1) / (inside + outside), 0.05);
  EXPECT_NEAR(cables->most_percent, 100 * outside / (inside + outside), 0.05);
  ASSERT_TRUE(cables->next.has_value());
  const topology::Topology t = lowering::pods_of_eight(4).seal();
  EXPECT_EQ(t.link_class(cables->next->link).kind, topology::LinkKind::kNvlink);
  const Relief* nic = find(relief, "one more NIC per node, 9 instead of 8");
  ASSERT_NE(nic, nullptr);
  EXPECT_NEAR(nic->gain_percent, 100 * outside * (1 - 8.0 / 9) / (inside + outside), 0.05);
}

TEST(Relief, OfOneMoreNicAlsoHelpsNodesWithADamagedOne) {
  topology::TopologyBuilder b = lowering::pods_of_eight(2);
  const topology::Topology& t = b.peek();
  std::uint32_t cable = 0;
  while (t.link_class(static_cast<topology::LinkId>(cable)).kind != topology::LinkKind::kInfiniband) ++cable;
  b.degrade(static_cast<topology::LinkId>(cable), 0.5);
  const auto relief = relief_of(std::move(b).seal(), lowering::test_call(16, "hierarchical", std::uint64_t{1} << 36));
  const double inside = 1.75 / 450, outside = 1.0 / 8 / 25;
  EXPECT_NEAR(find(relief, "one more NIC per node, 9 instead of 8")->gain_percent,
              100 * outside * (1 - 8.0 / 9) / (inside + outside), 0.05);
}

TEST(Explain, SplitsARingIntoRoundsOfLatencyAndOfBytes) {
  program::ProtocolModel protocol;
  protocol.launch = Duration::us(5);
  const auto parts =
      chain_of(lowering::one_switch(8).seal(), lowering::test_call(8, "ring", std::uint64_t{1} << 30), protocol);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_NEAR(kind_us(parts, lowering::ChainPartKind::kLaunch), 5, 1e-9);
  EXPECT_NEAR(kind_us(parts, lowering::ChainPartKind::kLatency), 14, 1e-6);
  EXPECT_NEAR(kind_us(parts, lowering::ChainPartKind::kBandwidth), 1.75 * 0x1p30 / 450e9 * 1e6, 1e-3);
  EXPECT_EQ(parts[1].rounds, 14u);
  EXPECT_EQ(parts[2].rounds, 14u);
}

TEST(Explain, StaysOnTheSlowLinkOfARing) {
  topology::TopologyBuilder b = lowering::one_switch(8);
  b.degrade(static_cast<topology::LinkId>(4), 0.5);  // gpu2
  const topology::Topology t = std::move(b).seal();
  const auto parts = chain_of(t, lowering::test_call(8, "ring", std::uint64_t{1} << 30));
  const auto slow = std::max_element(parts.begin(), parts.end(), [](auto& x, auto& y) { return x.ps < y.ps; });
  EXPECT_EQ(slow->kind, lowering::ChainPartKind::kBandwidth);
  EXPECT_TRUE(t.name(slow->link).find("gpu2") != std::string::npos) << t.name(slow->link);
}

TEST(Explain, FollowsATreeFromALeafUpAndDown) {
  // 8 ranks, trees of height 3: 6 hops of 1 us and of half of S each, both trees on every port
  const auto parts = chain_of(lowering::one_switch(8).seal(), lowering::test_call(8, "tree", 8));
  EXPECT_NEAR(kind_us(parts, lowering::ChainPartKind::kLatency), 6, 1e-6);
}

RC_GTEST_PROP(Explain, PartsSumToTheTimeOfEveryAlgorithmOnRandomMachines, ()) {
  RandomStream random(*rc::gen::arbitrary<std::uint64_t>(), "explained machines");
  const topology::Topology t = lowering::random_machine(random);
  const routing::Router r(t, topology::RoutingPolicy::kStatic);
  const routing::Placement p(r, t.gpus());
  program::ProtocolModel protocol;
  protocol.launch = Duration::us(3);
  protocol.step_network = Duration::us(1);
  lowering::Lowering lowering(r, p, protocol);
  const auto n = static_cast<std::uint32_t>(t.gpus().size());
  for (int o = 0; o <= static_cast<int>(collectives::Collective::kAllToAll); ++o) {
    program::CollectiveCall c = lowering::test_call(n, "", 1 + random.below(std::uint64_t{1} << random.below(31)));
    c.op = static_cast<collectives::Collective>(o);
    c.chunks = 1 + static_cast<std::uint32_t>(random.below(6));
    collectives::ScheduleSpec spec;
    spec.op = c.op;
    spec.ranks = n;
    spec.ranks_per_group = lowering::ranks_per_domain(c, t, p);
    for (const std::string& algorithm : collectives::algorithms_for(spec, true)) {
      c.algorithm = algorithm;
      const auto lowered = lowering.lower(c);
      if (!lowered.ok()) continue;
      const auto parts = lowering.explain(c).value();
      const double total = lowering::closed_form_ps(*lowered);
      if (std::abs(lowering::sum_ps(parts) - total) > 1e-6 * total + 1)
        RC_FAIL(algorithm + " " + collectives::name_of(c.op));
      for (const lowering::ChainPart& part : parts) RC_ASSERT(part.ps >= 0);
    }
  }
}

TEST(Relief, IsTheSameOnSeveralThreads) {
  const topology::Topology t = lowering::pods_of_eight(4).seal();
  const routing::Router r(t, topology::RoutingPolicy::kStatic);
  const routing::Placement p(r, t.gpus());
  for (const char* algorithm : {"ring", "hierarchical"}) {
    const program::CollectiveCall call = lowering::test_call(32, algorithm, std::uint64_t{1} << 24);
    const auto one = find_relief(r, p, {}, call, true).value();
    for (const std::uint32_t others : {1u, 3u}) {
      const auto another = [&] { return std::make_unique<routing::Router>(t, topology::RoutingPolicy::kStatic); };
      const auto several = find_relief(r, p, {}, call, true, {others, another, 0}).value();
      ASSERT_EQ(several.size(), one.size());
      for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_EQ(several[i].what, one[i].what);
        EXPECT_EQ(several[i].gain_percent, one[i].gain_percent);
        EXPECT_EQ(several[i].most_percent, one[i].most_percent);
        EXPECT_EQ(several[i].next->link, one[i].next->link);
      }
    }
  }
}

}  // namespace
}  // namespace busbar::choice
