#include "busbar/nccl/internal/channel_bound.h"

#include <gtest/gtest.h>

#include <numeric>

#include "busbar/nccl/internal/search.h"
#include "busbar/nccl/test_nodes.h"

namespace busbar::nccl {
namespace {

NcclSystem system_of(const TestNode& node, bool inter) {
  const topology::Topology t = nccl_machine(node, 2);
  std::vector<topology::DeviceId> gpus;
  for (const topology::DeviceId g : t.gpus())
    if (t.block_of(g) == static_cast<topology::BlockId>(0)) gpus.push_back(g);
  std::vector<std::uint32_t> ranks(gpus.size());
  std::iota(ranks.begin(), ranks.end(), 0u);
  return build_nccl_system(t, gpus, ranks, inter, NcclSettings{}).value();
}

NcclGraph trial_of(NcclPattern pattern, float speed, topology::PathType inside, topology::PathType outside) {
  NcclGraph trial;
  trial.pattern = pattern;
  trial.same_channels = false;
  trial.cross_nic = 2;
  trial.intra_GBps = trial.inter_GBps = speed;
  trial.intra_type = inside;
  trial.inter_type = outside;
  return trial;
}

TEST(NcclChannelBound, NoSearchFindsMoreChannelsOrFewerHops) {
  std::vector<TestNode> nodes(5);
  nodes[1].compute_capability = 80, nodes[1].nvlinks = 12, nodes[1].gpus_per_switch = nodes[1].nics_per_switch = 2;
  nodes[2].nics_per_switch = 4, nodes[2].nic_gigabits = 100;
  nodes[3].nvlinks = 0, nodes[3].gpus = 4, nodes[3].gpus_per_switch = 2;
  nodes[4].gpus_per_switch = 4, nodes[4].vendor = "AuthenticAMD";
  int found = 0, reached = 0;
  for (const TestNode& node : nodes)
    for (const bool inter : {false, true}) {
      const NcclSystem s = system_of(node, inter);
      for (const NcclPattern pattern : {NcclPattern::kRing, NcclPattern::kBalancedTree, NcclPattern::kTree})
        for (const float speed : {48.0f, 24.0f, 12.0f, 6.0f, 0.24f})
          for (const topology::PathType inside :
               {topology::PathType::kNvl, topology::PathType::kPxb, topology::PathType::kSys})
            for (const topology::PathType outside : {topology::PathType::kPxb, topology::PathType::kSys}) {
              const NcclGraph trial = trial_of(pattern, speed, inside, outside);
              NcclGraph best = trial;
              best.intra_GBps = 0;
              GraphSearch(s, best, NcclVersion{2, 30}).run(trial, 1 << 10);
              if (best.channels == 0) continue;
              ChannelBound bound(s);
              EXPECT_LE(best.channels, bound.most_channels(trial));
              EXPECT_GE(best.hops, static_cast<int>(best.channels) * bound.least_hops(trial));
              ++found;
              if (best.channels == bound.most_channels(trial)) ++reached;
            }
    }
  EXPECT_GT(found, 100);
  EXPECT_GT(reached, found / 2);  // a bound that is seldom reached would skip no search
}

TEST(NcclChannelBound, CountsNicsByWholeGigabytesAndPathsOfAllGpusTogether) {
  const NcclSystem two_nodes = system_of(TestNode{}, true);  // 8 GPUs, 18 NVLinks of 20.6 GB/s each, 8 NICs of 50 GB/s
  ChannelBound bound(two_nodes);
  NcclGraph trial = trial_of(NcclPattern::kRing, 48, topology::PathType::kNvl, topology::PathType::kPxb);
  // The links of a GPU carry 370.8 GB/s, so they hold 7 paths of 48 GB/s; 8 GPUs hold 56, or 8 channels of 7 paths.
  EXPECT_EQ(bound.most_channels(trial), 8u);
  trial.intra_GBps = 60;  // 6 paths per GPU, 48 in all
  EXPECT_EQ(bound.most_channels(trial), 6u);
  trial.intra_GBps = 20;
  EXPECT_EQ(bound.most_channels(trial), 8u);  // one NIC each
  trial.inter_GBps = 24.9f;                   // 24 in whole GB/s: two fit on a NIC
  EXPECT_EQ(bound.most_channels(trial), 16u);
}

TEST(NcclChannelBound, SkipsTrialsThatCannotImproveTheBest) {
  const NcclSystem s = system_of(TestNode{}, true);
  ChannelBound bound(s);
  const NcclGraph trial =
      trial_of(NcclPattern::kRing, 24, topology::PathType::kNvl, topology::PathType::kPxb);  // 15 or 16 channels
  NcclGraph best = trial;
  best.channels = 0;
  EXPECT_TRUE(bound.may_improve(trial, best));
  best.channels = bound.most_channels(trial);
  best.hops = static_cast<int>(best.channels) * bound.least_hops(trial);
  EXPECT_FALSE(bound.may_improve(trial, best));
  ++best.hops;
  EXPECT_TRUE(bound.may_improve(trial, best));
  best.cross_nic = 0;  // hops are compared only between graphs of one kind
  EXPECT_FALSE(bound.may_improve(trial, best));
  best.channels -= 1;
  EXPECT_TRUE(bound.may_improve(trial, best));
  NcclGraph many = trial;
  many.min_channels = bound.most_channels(trial) + 1;
  best.channels = 0;
  EXPECT_FALSE(bound.may_improve(many, best));
  many.pattern = NcclPattern::kNvls;  // no chain, so no bound is known
  EXPECT_TRUE(bound.may_improve(many, best));
}

}  // namespace
}  // namespace busbar::nccl
