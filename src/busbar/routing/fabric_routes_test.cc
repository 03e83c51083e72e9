#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "busbar/base/random.h"
#include "busbar/routing/fabric_table.h"
#include "busbar/routing/internal/route_kind.h"
#include "busbar/routing/placement.h"
#include "busbar/routing/router.h"
#include "busbar/topology/connectivity.h"
#include "busbar/topology/test_parts.h"

namespace busbar::routing {
namespace {

/// Two GPUs on an NVSwitch, each with `nics` NICs of its own.
topology::NodeTemplate server(std::uint32_t nics) {
  topology::NodeTemplate n;
  const auto device = [&](topology::DeviceKind k, std::string name) {
    n.devices.push_back(topology::test_device(k, std::move(name)));
  };
  device(topology::DeviceKind::kGpu, "gpu0");
  device(topology::DeviceKind::kGpu, "gpu1");
  device(topology::DeviceKind::kNvSwitch, "nvswitch0");
  for (std::uint32_t g = 0; g < 2; ++g) {
    n.links.push_back({g, 2, topology::test_link(topology::LinkKind::kNvlink, 450)});
    for (std::uint32_t i = 0; i < nics; ++i) {
      const auto place = static_cast<std::uint32_t>(n.devices.size());
      device(topology::DeviceKind::kNic, "nic" + std::to_string(g * nics + i));
      n.links.push_back({g, place, topology::test_link(topology::LinkKind::kPcie, 63)});
    }
  }
  return n;
}

topology::TopologyBuilder cluster(const topology::FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics_per_gpu) {
  return std::move(topology::test_cluster(spec, server(nics_per_gpu), nodes)->builder);
}

bool conserved(const topology::Topology& t, topology::DeviceId from, topology::DeviceId to,
               const std::vector<LinkShare>& path) {
  std::map<topology::DeviceId, double> balance;
  for (const LinkShare& s : path) {
    if (t.failed(s.link)) return false;
    balance[t.from(s.link)] -= s.share;
    balance[t.to(s.link)] += s.share;
  }
  for (const auto& [d, net] : balance) {
    if (std::abs(net - (d == from ? -1.0 : d == to ? 1.0 : 0.0)) > 1e-9) return false;
  }
  return true;
}

std::set<std::uint32_t> fabric_web(const topology::Topology& t, topology::DeviceId nic) {
  std::set<std::uint32_t> seen{index(nic)};
  std::vector<topology::DeviceId> queue{nic};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const topology::LinkId l : t.out_links(queue[head])) {
      if (!topology::is_fabric(t.link_class(l).kind) || !seen.insert(index(t.to(l))).second) continue;
      if (t.kind(t.to(l)) != topology::DeviceKind::kNic) queue.push_back(t.to(l));
    }
  }
  return seen;
}

TEST(FabricRoutes, RailOnlyCrossesRailsOverTheGpuNextToTheNic) {
  const topology::Topology t = cluster(topology::test_fabric(topology::FabricKind::kRailOnly, 8), 4, 1).seal();
  const Router r(t, topology::RoutingPolicy::kStatic);
  const Placement p(r, t.gpus());
  for (std::uint32_t a = 0; a < p.ranks(); ++a) {
    for (std::uint32_t b = 0; b < p.ranks(); ++b) {
      if (a / 2 == b / 2) continue;
      std::vector<LinkShare> path;
      ASSERT_TRUE(r.spread(p.gpu(a), p.gpu(b), p.nic(a, 0), p.nic(b, 0), 7, path).ok());
      EXPECT_TRUE(conserved(t, p.gpu(a), p.gpu(b), path));
      EXPECT_EQ(route_kind(t, path), a % 2 == b % 2 ? RouteKind::kNetwork : RouteKind::kNetworkRelay);
      EXPECT_EQ(t.to(path.back().link), p.gpu(b));
    }
  }
}

TEST(FabricRoutes, APortOnEachPlaneCarriesHalf) {
  topology::FabricSpec s = topology::test_fabric(topology::FabricKind::kLeafSpine, 8);
  s.planes = 2;
  const topology::Topology t = cluster(s, 8, 1).seal();
  const Router r(t, topology::RoutingPolicy::kStatic);
  const Placement p(r, t.gpus());
  std::vector<LinkShare> path;
  ASSERT_TRUE(r.spread(p.gpu(0), p.gpu(15), p.nic(0, 0), p.nic(15, 0), 7, path).ok());
  EXPECT_TRUE(conserved(t, p.gpu(0), p.gpu(15), path));
  int halves = 0;
  for (const LinkShare& l : path) halves += t.from(l.link) == p.nic(0, 0) && l.share == 0.5;
  EXPECT_EQ(halves, 2);
}

TEST(FabricRoutes, ChannelsTakeTurnsOverTheNicsOfTheirGpu) {
  const topology::Topology t = cluster(topology::test_fabric(topology::FabricKind::kLeafSpine, 64), 2, 4).seal();
  const Router r(t, topology::RoutingPolicy::kStatic);
  const Placement p(r, t.gpus());
  EXPECT_EQ(p.nic_channels(), 4u);
  for (std::uint32_t rank = 0; rank < p.ranks(); ++rank) {
    std::set<std::string> used;
    for (std::uint32_t c = 0; c < 4; ++c) used.insert(t.name(p.nic(rank, c)));
    EXPECT_EQ(used.size(), 4u);
    EXPECT_EQ(p.nic(rank, 0), r.nearest_nic(p.gpu(rank), 0));
  }
}

TEST(FabricRoutes, ADeadCableInTheFirstNodeLeavesTheOthersAlone) {
  topology::TopologyBuilder b = cluster(topology::test_fabric(topology::FabricKind::kLeafSpine, 64), 3, 2);
  const topology::Topology whole = cluster(topology::test_fabric(topology::FabricKind::kLeafSpine, 64), 3, 2).seal();
  for (std::uint32_t l = 0; l < b.peek().link_count(); l += 2) {
    if (b.peek().name(topology::LinkId{l}) == "node0.nic0->leaf0") b.fail(topology::LinkId{l});
  }
  const topology::Topology t = std::move(b).seal();
  const Router damaged(t, topology::RoutingPolicy::kStatic), sound(whole, topology::RoutingPolicy::kStatic);
  const Placement p(damaged, t.gpus()), q(sound, whole.gpus());
  EXPECT_EQ(t.name(p.nic(0, 0)), "node0.nic1");
  for (std::uint32_t rank = 1; rank < p.ranks(); ++rank) EXPECT_EQ(p.nic(rank, 0), q.nic(rank, 0)) << rank;
}

// One cable joins two switches of a group: shortest ways of many flows share it, detours do not.
TEST(FabricRoutes, ValiantSpreadsOverTheOtherSwitchesOfTheGroup) {
  topology::FabricSpec s = topology::test_fabric(topology::FabricKind::kDragonfly, 0);
  s.dragonfly = {1, 8, 2, 4};
  const topology::Topology t = cluster(s, 8, 1).seal();
  const Router r(t, topology::RoutingPolicy::kValiant), straight(t, topology::RoutingPolicy::kStatic);
  const Placement p(r, t.gpus());
  std::vector<LinkShare> path;
  ASSERT_TRUE(r.spread(p.gpu(0), p.gpu(15), p.nic(0, 0), p.nic(15, 0), 7, path).ok());
  EXPECT_TRUE(conserved(t, p.gpu(0), p.gpu(15), path));
  std::size_t between = 0;
  for (const LinkShare& l : path) {
    if (t.kind(t.from(l.link)) != topology::DeviceKind::kLeaf || t.kind(t.to(l.link)) != topology::DeviceKind::kLeaf)
      continue;
    EXPECT_NEAR(l.share, 1.0 / 6, 1e-12);
    ++between;
  }
  EXPECT_EQ(between, 12u);  // six other switches, two cables each
  path.clear();
  ASSERT_TRUE(straight.spread(p.gpu(0), p.gpu(15), p.nic(0, 0), p.nic(15, 0), 7, path).ok());
  EXPECT_EQ(path.size(), 5u);
}

// If the check fails, some pair has no way. If it passes, and no GPU has to relay for another, every pair has a route.
RC_GTEST_PROP(FabricRoutes, WhatTheConnectivityCheckSaysTheRouterFinds, ()) {
  const auto kind = *rc::gen::element(topology::FabricKind::kLeafSpine, topology::FabricKind::kFatTree,
                                      topology::FabricKind::kDragonfly);
  topology::TopologyBuilder b = cluster(topology::test_fabric(kind, 8), *rc::gen::inRange(2u, 6u), 1);
  for (auto failed = *rc::gen::inRange(0, 9); failed > 0; --failed)
    b.fail(topology::LinkId{2 * *rc::gen::inRange(0u, b.peek().link_count() / 2)});
  const topology::Topology t = std::move(b).seal();
  const Router r(t, topology::RoutingPolicy::kStatic);
  bool all = true;
  for (const topology::DeviceId x : t.gpus())
    for (const topology::DeviceId y : t.gpus()) {
      std::vector<LinkShare> path;
      if (x != y && !r.spread(x, y, r.nearest_nic(x, 0), r.nearest_nic(y, 0), 1, path).ok()) all = false;
    }
  const bool connected = topology::check_connected(t).ok();
  if (!connected) RC_ASSERT(!all);
  if (all) RC_ASSERT(connected);
}

RC_GTEST_PROP(FabricRoutes, EveryPairThatLiveCablesJoinIsReachedWithoutLoops, ()) {
  const auto kind = *rc::gen::element(topology::FabricKind::kLeafSpine, topology::FabricKind::kRailOptimised,
                                      topology::FabricKind::kFatTree, topology::FabricKind::kRailOnly,
                                      topology::FabricKind::kDragonfly, topology::FabricKind::kTorus);
  topology::FabricSpec s =
      topology::test_fabric(kind, kind == topology::FabricKind::kTorus ? 0 : 7 + *rc::gen::element(1u, 4u));
  s.dims = {3, 2, 2};
  const auto nodes = *rc::gen::inRange(2u, 7u);
  topology::TopologyBuilder b = cluster(s, nodes, 1);
  std::vector<topology::LinkId> cables;
  for (std::uint32_t l = 0; l < b.peek().link_count(); l += 2) {
    if (topology::is_fabric(b.peek().link_class(topology::LinkId{l}).kind)) cables.push_back(topology::LinkId{l});
  }
  for (auto failed = *rc::gen::inRange(0, 6); failed > 0; --failed) b.fail(*rc::gen::elementOf(cables));
  const topology::Topology t = std::move(b).seal();
  const Router r(t, *rc::gen::element(topology::RoutingPolicy::kStatic, topology::RoutingPolicy::kSpray,
                                      topology::RoutingPolicy::kValiant, topology::RoutingPolicy::kAdaptive));
  SplitBias bias;
  if (r.policy() == topology::RoutingPolicy::kAdaptive) {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    bias.resize(t.link_count());
    for (std::uint32_t l = 0; l < bias.size(); ++l) bias[l] = std::exp2(static_cast<float>(mix64(seed ^ l) % 20) - 10);
  }
  const Placement p(r, t.gpus());
  for (std::uint32_t x = 0; x < p.ranks(); ++x) {
    for (std::uint32_t y = 0; y < p.ranks(); ++y) {
      if (x / 2 == y / 2 || p.nic(x, 0) == kNone<topology::DeviceId> || p.nic(y, 0) == kNone<topology::DeviceId>)
        continue;
      const bool joined = fabric_web(t, p.nic(x, 0)).count(index(p.nic(y, 0))) > 0;
      std::vector<LinkShare> path;
      const bool found = r.spread(p.gpu(x), p.gpu(y), p.nic(x, 0), p.nic(y, 0), x * 97 + y, path, bias).ok();
      RC_ASSERT(found || !joined);
      if (!found) continue;
      RC_ASSERT(conserved(t, p.gpu(x), p.gpu(y), path));
      std::map<topology::DeviceId, double> through;  // a loop would bring more than all of it to some device
      for (const LinkShare& l : path) through[t.to(l.link)] += l.share;
      for (const auto& [d, share] : through) RC_ASSERT(share <= 1 + 1e-9);
      std::set<topology::LinkId> links;
      for (const LinkShare& l : path) RC_ASSERT(links.insert(l.link).second);
    }
  }
}

/// Hops to every switch by a plain search.
std::vector<int> hops_from(const FabricTable& table, std::uint32_t from, std::uint32_t switches) {
  std::vector<int> hops(switches, FabricTable::kFar);
  std::vector<std::uint32_t> queue{from};
  hops[from] = 0;
  for (std::size_t head = 0; head < queue.size(); ++head)
    for (const FabricTable::Hop& hop : table.hops(queue[head]))
      if (hops[hop.to] == FabricTable::kFar) hops[hop.to] = hops[queue[head]] + 1, queue.push_back(hop.to);
  return hops;
}

RC_GTEST_PROP(FabricTable, TwinsChangeNoDistance, ()) {
  topology::FabricSpec s =
      topology::test_fabric(*rc::gen::element(topology::FabricKind::kLeafSpine, topology::FabricKind::kFatTree,
                                              topology::FabricKind::kDragonfly),
                            8);
  topology::TopologyBuilder b = cluster(s, *rc::gen::inRange(2u, 16u), 1);
  std::vector<topology::LinkId> cables;
  for (std::uint32_t l = 0; l < b.peek().link_count(); l += 2)
    if (topology::is_fabric(b.peek().link_class(topology::LinkId{l}).kind)) cables.push_back(topology::LinkId{l});
  for (auto failed = *rc::gen::inRange(0, 12); failed > 0; --failed) b.fail(*rc::gen::elementOf(cables));
  const topology::Topology t = std::move(b).seal();
  FabricTable table(t);
  const auto n = static_cast<std::uint32_t>(t.fabric_switches().size());
  std::vector<std::vector<int>> truth;
  for (std::uint32_t to = 0; to < n; ++to) truth.push_back(hops_from(table, to, n));
  for (int asked = 0; asked < 50; ++asked) {  // in any order: rows grow on request
    const auto from = *rc::gen::inRange(0u, n), to = *rc::gen::inRange(0u, n);
    RC_ASSERT(int{table.distance(from, to)} == truth[to][from]);
    if (truth[to][from] == int{FabricTable::kFar}) continue;
    for (std::uint32_t x = 0; x < n; ++x)
      if (truth[to][x] < truth[to][from]) RC_ASSERT(int{table.nearer(to, x)} == truth[to][x]);
  }
}

// The definition, by plain searches: at each switch the hash picks one of the links to nearer neighbours.
RC_GTEST_PROP(FabricRoutes, AHashPicksOneOfTheShortestWaysSwitchBySwitch, ()) {
  const auto kind = *rc::gen::element(topology::FabricKind::kLeafSpine, topology::FabricKind::kFatTree,
                                      topology::FabricKind::kDragonfly);
  topology::TopologyBuilder b = cluster(topology::test_fabric(kind, 8), *rc::gen::inRange(2u, 12u), 1);
  std::vector<topology::LinkId> cables;
  for (std::uint32_t l = 0; l < b.peek().link_count(); l += 2)
    if (topology::is_fabric(b.peek().link_class(topology::LinkId{l}).kind)) cables.push_back(topology::LinkId{l});
  for (auto failed = *rc::gen::inRange(0, 6); failed > 0; --failed) b.fail(*rc::gen::elementOf(cables));
  const topology::Topology t = std::move(b).seal();
  const auto seed = *rc::gen::arbitrary<std::uint64_t>(), flow = *rc::gen::arbitrary<std::uint64_t>();
  const Router r(t, topology::RoutingPolicy::kStatic, seed);
  const FabricTable table(t);
  const auto n = static_cast<std::uint32_t>(t.fabric_switches().size());
  for (const topology::DeviceId x : t.gpus())
    for (const topology::DeviceId y : t.gpus()) {
      std::vector<LinkShare> path;
      const topology::DeviceId nic = r.nearest_nic(y, 0);
      if (t.block_of(x) == t.block_of(y) || !r.spread(x, y, r.nearest_nic(x, 0), nic, flow, path).ok()) continue;
      if (!std::all_of(path.begin(), path.end(), [](const LinkShare& l) { return l.share == 1; })) continue;
      for (std::size_t i = 0; i + 1 < path.size(); ++i) {
        const topology::DeviceId at = t.to(path[i].link);
        if (table.number(at) < 0 || t.to(path[i + 1].link) == nic) continue;
        std::vector<int> hops(n, FabricTable::kFar);  // to the switches of the NIC, from there on
        for (const topology::LinkId l : t.out_links(nic)) {
          if (table.number(t.to(l)) < 0) continue;
          const auto one = hops_from(table, static_cast<std::uint32_t>(table.number(t.to(l))), n);
          std::transform(hops.begin(), hops.end(), one.begin(), hops.begin(),
                         [](int p, int q) { return std::min(p, q); });
        }
        std::vector<topology::LinkId> nearer;
        const auto here = static_cast<std::uint32_t>(table.number(at));
        for (const FabricTable::Hop& hop : table.hops(here))
          if (hops[hop.to] == hops[here] - 1) nearer.push_back(hop.link);
        RC_ASSERT(path[i + 1].link == nearer[mix64(flow ^ mix64(seed ^ index(at))) % nearer.size()]);
      }
    }
}

}  // namespace
}  // namespace busbar::routing
