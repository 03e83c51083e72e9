#include "busbar/routing/pair_spread.h"

#include <gtest/gtest.h>

#include <map>

#include "busbar/routing/flow_name.h"
#include "busbar/topology/test_parts.h"

namespace busbar::routing {
namespace {

/// All GPUs, each by its nearest NICs of `lanes` channels.
PairEnds all_gpus(const Router& router, std::uint32_t lanes) {
  PairEnds ends;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) ends.lane.push_back(lane);
  for (const topology::DeviceId gpu : router.topology().gpus()) {
    ends.gpu.push_back(gpu);
    ends.at.push_back(gpu);
    ends.before_ps.push_back(0);
    ends.after_ps.push_back(0);
    for (std::uint32_t lane = 0; lane < lanes; ++lane) ends.nic.push_back(router.nearest_nic(gpu, lane));
  }
  return ends;
}

std::vector<double> latencies_of(const topology::Topology& t) {
  std::vector<double> out;
  for (const topology::LinkClass& c : t.link_classes()) out.push_back(static_cast<double>(c.latency.in_ps()));
  return out;
}

PairLoads loads_of(const Router& router, const PairEnds& ends, std::uint32_t threads) {
  PairSpread spread(router, threads);
  const PairLoads* loads = spread.between_blocks(ends, latencies_of(router.topology()), false, kEqualSplit).value();
  EXPECT_NE(loads, nullptr);
  return *loads;
}

/// Each pair routed by itself.
std::map<CapacityId, double> one_by_one(const Router& router, const PairEnds& ends) {
  const topology::Topology& t = router.topology();
  std::map<CapacityId, double> out;
  std::vector<LinkShare> path;
  const auto lanes = static_cast<std::uint32_t>(ends.lane.size());
  for (std::uint32_t a = 0; a < ends.gpu.size(); ++a)
    for (std::uint32_t b = 0; b < ends.gpu.size(); ++b) {
      if (t.block_of(ends.gpu[a]) == t.block_of(ends.gpu[b])) continue;
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        path.clear();
        const topology::DeviceId to = ends.nic[b * lanes + lane];
        const topology::DeviceId from = router.exit_nic(ends.gpu[a], ends.nic[a * lanes + lane], to);
        EXPECT_TRUE(
            router.spread(ends.gpu[a], ends.gpu[b], from, to, flow_name(ends.gpu[a], ends.gpu[b], lane), path).ok());
        for (const LinkShare& l : path) out[l.link] += l.share / lanes;
      }
    }
  return out;
}

TEST(PairSpread, HashedFlowsLoadLinksAsRoutedOneByOneWithAnyNumberOfThreads) {
  struct Case {
    topology::FabricKind kind;
    std::uint32_t servers, nics, lanes;
  };
  for (const auto& [kind, servers, nics, lanes] :
       {Case{topology::FabricKind::kLeafSpine, 40, 1, 1}, Case{topology::FabricKind::kLeafSpine, 12, 3, 3},
        Case{topology::FabricKind::kRailOptimised, 30, 2, 1}, Case{topology::FabricKind::kFatTree, 16, 2, 2}}) {
    SCOPED_TRACE(servers);
    const auto made =
        topology::test_cluster(topology::test_fabric(kind, 8, 1.0), topology::test_nics(nics, true), servers);
    ASSERT_TRUE(made.ok());
    topology::TopologyBuilder b = made->builder;
    const topology::Topology t = std::move(b).seal();
    const Router router(t, topology::RoutingPolicy::kStatic, 7);
    const PairEnds ends = all_gpus(router, lanes);
    const PairLoads one = loads_of(router, ends, 1);
    const std::map<CapacityId, double> apart = one_by_one(router, ends);
    ASSERT_EQ(one.on.size(), apart.size());
    for (const PairLoads::At& x : one.on) EXPECT_NEAR(x.pairs, apart.at(x.on), 1e-9);
    for (const std::uint32_t threads : {2u, 3u, 4u}) {
      const PairLoads several = loads_of(router, ends, threads);
      ASSERT_EQ(several.on.size(), one.on.size());
      for (std::size_t i = 0; i < one.on.size(); ++i) {
        EXPECT_EQ(several.on[i].on, one.on[i].on);
        EXPECT_EQ(several.on[i].pairs, one.on[i].pairs);
        EXPECT_EQ(several.on[i].least_ps, one.on[i].least_ps);
      }
      EXPECT_EQ(several.latest_ps, one.latest_ps);
      EXPECT_EQ(several.least_out_ps, one.least_out_ps);
      EXPECT_EQ(several.least_in_ps, one.least_in_ps);
    }
  }
}

TEST(PairSpread, WorkThatWasStoppedLeavesNothingBehind) {
  const auto made = topology::test_cluster(topology::test_fabric(topology::FabricKind::kLeafSpine, 8, 1.0),
                                           topology::test_nics(1, true), 40);
  ASSERT_TRUE(made.ok());
  topology::TopologyBuilder b = made->builder;
  const topology::Topology t = std::move(b).seal();
  const Router router(t, topology::RoutingPolicy::kStatic, 7);
  const PairEnds ends = all_gpus(router, 1);
  PairSpread spread(router, 1);
  volatile std::sig_atomic_t stop = 1;
  const auto stopped = spread.between_blocks(ends, latencies_of(t), false, kEqualSplit, &stop);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().message, interrupted().message);
  stop = 0;
  const auto loads = spread.between_blocks(ends, latencies_of(t), false, kEqualSplit, &stop);
  ASSERT_TRUE(loads.ok());
  const PairLoads fresh = loads_of(router, ends, 1);
  ASSERT_EQ((*loads)->on.size(), fresh.on.size());
  for (std::size_t i = 0; i < fresh.on.size(); ++i) EXPECT_EQ((*loads)->on[i].pairs, fresh.on[i].pairs);
}

}  // namespace
}  // namespace busbar::routing
