#include "busbar/routing/router.h"

#include <gtest/gtest.h>

#include <map>

#include "busbar/routing/path_view.h"
#include "busbar/routing/placement.h"
#include "busbar/topology/test_parts.h"

namespace busbar::routing {
namespace {

topology::LinkClass link(topology::LinkKind kind, std::uint64_t gbps, std::int64_t ns) {
  return topology::test_link(kind, gbps, Duration::ns(ns));
}

/// Two GPUs and two NICs on one PCIe switch, two NVSwitches with 3 and 1 lanes of 25 GB/s.
topology::NodeTemplate small_server() {
  topology::NodeTemplate n;
  n.name = "small";
  const auto device = [&](topology::DeviceKind k, std::string name) {
    n.devices.push_back(topology::test_device(k, std::move(name)));
  };
  device(topology::DeviceKind::kGpu, "gpu0");
  device(topology::DeviceKind::kGpu, "gpu1");
  device(topology::DeviceKind::kNvSwitch, "nvswitch0");
  device(topology::DeviceKind::kNvSwitch, "nvswitch1");
  device(topology::DeviceKind::kPcieSwitch, "pcie0");
  device(topology::DeviceKind::kNic, "nic0");
  device(topology::DeviceKind::kNic, "nic1");
  for (std::uint32_t g = 0; g < 2; ++g) {
    n.links.push_back({g, 2, link(topology::LinkKind::kNvlink, 75, 500)});
    n.links.push_back({g, 3, link(topology::LinkKind::kNvlink, 25, 500)});
    n.links.push_back({g, 4, link(topology::LinkKind::kPcie, 63, 150)});
    n.links.push_back({5 + g, 4, link(topology::LinkKind::kPcie, 63, 150)});
  }
  return n;
}

/// Two sockets of two GPUs, each with its memory; GPU 3 is linked to both sockets.
topology::Topology two_sockets() {
  topology::NodeTemplate n;
  const auto device = [&](topology::DeviceKind k, std::string name, std::int16_t numa) {
    n.devices.push_back(topology::test_device(k, std::move(name)));
    n.devices.back().numa = numa;
  };
  for (std::int16_t g = 0; g < 4; ++g)
    device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g), static_cast<std::int16_t>(g / 2));
  for (std::int16_t s = 0; s < 2; ++s) device(topology::DeviceKind::kCpu, "cpu" + std::to_string(s), s);
  for (std::int16_t s = 0; s < 2; ++s) device(topology::DeviceKind::kNuma, "numa" + std::to_string(s), s);
  for (std::uint32_t g = 0; g < 4; ++g) n.links.push_back({g, 4 + g / 2, link(topology::LinkKind::kPcie, 63, 150)});
  n.links.push_back({3, 4, link(topology::LinkKind::kPcie, 63, 150)});
  n.links.push_back({4, 5, link(topology::LinkKind::kHost, 100, 100)});
  for (std::uint32_t s = 0; s < 2; ++s) n.links.push_back({4 + s, 6 + s, link(topology::LinkKind::kHost, 200, 50)});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(n));
  return std::move(b).seal();
}

TEST(Router, TheNearestMemoryOfAMemoryIsItself) {
  const topology::Topology t = two_sockets();
  const Router router(t, topology::RoutingPolicy::kStatic);
  for (std::uint32_t d = 6; d < 8; ++d)
    EXPECT_EQ(nearest_memory(router, static_cast<topology::DeviceId>(d)), static_cast<topology::DeviceId>(d));
}

TEST(Router, TheNearestMemoryIsTheFewestHopsAwayAndOfTheSameNodeAmongEquals) {
  const topology::Topology t = two_sockets();
  const Router router(t, topology::RoutingPolicy::kStatic);
  const auto name = [&](std::size_t gpu) { return t.name(nearest_memory(router, t.gpus()[gpu])); };
  EXPECT_EQ(name(0), "node0.numa0");
  EXPECT_EQ(name(1), "node0.numa0");
  EXPECT_EQ(name(2), "node0.numa1");
  EXPECT_EQ(name(3), "node0.numa1") << "both are two hops away, and this one is its own";
}

/// `nodes` servers with NIC r of each on leaf r, and two spines above the leaves.
topology::TopologyBuilder small_cluster(std::uint32_t nodes) {
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(small_server());
  std::vector<topology::BlockId> blocks;
  for (std::uint32_t i = 0; i < nodes; ++i) blocks.push_back(b.add_block(t));
  topology::DeviceClass leaf, spine;
  leaf.kind = topology::DeviceKind::kLeaf;
  spine.kind = topology::DeviceKind::kSpine;
  const topology::DeviceId leaves[] = {b.add_switch(leaf, "leaf0"), b.add_switch(leaf, "leaf1")};
  const topology::DeviceId spines[] = {b.add_switch(spine, "spine0"), b.add_switch(spine, "spine1")};
  for (const topology::BlockId block : blocks)
    for (std::uint32_t r = 0; r < 2; ++r)
      b.connect(b.device(block, 5 + r), leaves[r], link(topology::LinkKind::kInfiniband, 50, 600));
  for (const topology::DeviceId l : leaves)
    for (const topology::DeviceId s : spines) b.connect(l, s, link(topology::LinkKind::kInfiniband, 50, 600));
  return b;
}

/// All that arrives at a device must leave it again, and all of it must arrive at the end.
void expect_conserved(const topology::Topology& t, topology::DeviceId from, topology::DeviceId to,
                      const std::vector<LinkShare>& path) {
  std::map<topology::DeviceId, double> balance;
  for (const LinkShare& s : path) {
    EXPECT_FALSE(t.failed(s.link));
    balance[t.from(s.link)] -= s.share;
    balance[t.to(s.link)] += s.share;
  }
  for (const auto& [device, net] : balance)
    EXPECT_NEAR(net, device == from ? -1.0 : device == to ? 1.0 : 0.0, 1e-12) << t.name(device);
}

TEST(Router, SpreadsOverNvswitchesInProportionToTheirLanes) {
  const topology::Topology t = small_cluster(1).seal();
  const Router r(t, topology::RoutingPolicy::kStatic);
  std::vector<LinkShare> path;
  ASSERT_TRUE(r.spread(t.gpus()[0], t.gpus()[1], kNone<topology::DeviceId>, kNone<topology::DeviceId>, 0, path).ok());
  expect_conserved(t, t.gpus()[0], t.gpus()[1], path);
  ASSERT_EQ(path.size(), 4u);
  EXPECT_DOUBLE_EQ(path[0].share, 0.75);
  EXPECT_DOUBLE_EQ(path[1].share, 0.25);
}

TEST(Router, TakesPcieWhenEveryNvlinkOfAGpuIsGone) {
  topology::TopologyBuilder b = small_cluster(1);
  b.fail(topology::LinkId{0});
  b.fail(topology::LinkId{2});
  const topology::Topology t = std::move(b).seal();
  const Router r(t, topology::RoutingPolicy::kStatic);
  std::vector<LinkShare> path;
  ASSERT_TRUE(r.spread(t.gpus()[0], t.gpus()[1], kNone<topology::DeviceId>, kNone<topology::DeviceId>, 0, path).ok());
  expect_conserved(t, t.gpus()[0], t.gpus()[1], path);
  for (const LinkShare& s : path) EXPECT_EQ(t.link_class(s.link).kind, topology::LinkKind::kPcie);
}

TEST(Router, MovesAllBytesToTheSwitchThatIsLeft) {
  topology::TopologyBuilder b = small_cluster(2);
  b.fail(topology::LinkId{0});  // node0.gpu0 - nvswitch0
  const topology::Topology t = std::move(b).seal();
  EXPECT_NE(t.blocks()[0].shape, t.blocks()[1].shape);
  const Router r(t, topology::RoutingPolicy::kStatic);
  std::vector<LinkShare> path;
  ASSERT_TRUE(r.spread(t.gpus()[0], t.gpus()[1], kNone<topology::DeviceId>, kNone<topology::DeviceId>, 0, path).ok());
  ASSERT_EQ(path.size(), 2u);
  EXPECT_EQ(t.name(path[0].link), "node0.gpu0->node0.nvswitch1");
}

TEST(Router, CrossesNodesByTheRailsLeafWithoutASpine) {
  const topology::Topology t = small_cluster(3).seal();
  const Router r(t, topology::RoutingPolicy::kStatic);
  const Placement p(r, t.gpus());
  std::vector<LinkShare> path;
  ASSERT_TRUE(r.spread(p.gpu(0), p.gpu(4), p.nic(0, 0), p.nic(4, 0), 7, path).ok());
  expect_conserved(t, p.gpu(0), p.gpu(4), path);
  std::string names;
  for (const LinkShare& s : path) names += t.name(t.to(s.link)) + " ";
  EXPECT_EQ(names, "node0.pcie0 node0.nic0 leaf0 node2.nic0 node2.pcie0 node2.gpu0 ");
}

/// Two servers of four GPUs in a ring of NVLinks, each GPU with a NIC on a PCIe switch of its own below one CPU.
topology::Topology ring_cluster() {
  topology::NodeTemplate n;
  n.name = "ring";
  n.devices.push_back(topology::test_device(topology::DeviceKind::kCpu, "cpu0"));
  for (const auto& [kind, name] :
       {std::pair(topology::DeviceKind::kGpu, "gpu"), std::pair(topology::DeviceKind::kPcieSwitch, "pcie"),
        std::pair(topology::DeviceKind::kNic, "nic")})
    for (std::uint32_t i = 0; i < 4; ++i) n.devices.push_back(topology::test_device(kind, name + std::to_string(i)));
  for (std::uint32_t i = 0; i < 4; ++i) {
    n.links.push_back({1 + i, 1 + (i + 1) % 4, link(topology::LinkKind::kNvlink, 50, 500)});
    n.links.push_back({1 + i, 5 + i, link(topology::LinkKind::kPcie, 63, 150)});
    n.links.push_back({9 + i, 5 + i, link(topology::LinkKind::kPcie, 63, 150)});
    n.links.push_back({5 + i, 0, link(topology::LinkKind::kPcie, 63, 150)});
  }
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(n);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  const topology::DeviceId hub = b.add_switch(leaf, "leaf0");
  for (int i = 0; i < 2; ++i) {
    const topology::BlockId block = b.add_block(t);
    for (std::uint32_t nic = 9; nic < 13; ++nic)
      b.connect(b.device(block, nic), hub, link(topology::LinkKind::kInfiniband, 50, 600));
  }
  return std::move(b).seal();
}

/// As NCCL demands for PXN: an NVLink to the GPU next to the NIC, and no CPU from there.
TEST(Router, TakesTheReceiversRailOverOneScaleUpLinkAndNotOverTwo) {
  const topology::Topology t = ring_cluster();
  const Router r(t, topology::RoutingPolicy::kStatic);
  const auto device = [&](const char* name) { return t.find(name).value(); };
  const topology::DeviceId gpu = device("node0.gpu0"), own = device("node0.nic0");
  EXPECT_EQ(r.exit_nic(gpu, own, device("node1.nic1")), device("node0.nic1"));
  EXPECT_EQ(r.exit_nic(gpu, own, device("node1.nic3")), device("node0.nic3"));
  EXPECT_EQ(r.exit_nic(gpu, own, device("node1.nic2")), own) << "two NVLinks away";
}

/// As in servers whose NICs are behind the CPUs: every way to a NIC crosses one.
TEST(Router, TakesTheReceiversRailOverTheHostIfTheWayToItsOwnNicIsNoBetter) {
  topology::NodeTemplate n;
  n.name = "board";
  for (const char* name : {"cpu0", "cpu1"})
    n.devices.push_back(topology::test_device(topology::DeviceKind::kCpu, name));
  for (std::uint32_t i = 0; i < 4; ++i)
    n.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(i)));
  for (std::uint32_t i = 0; i < 4; ++i)
    n.devices.push_back(topology::test_device(topology::DeviceKind::kNic, "nic" + std::to_string(i)));
  for (std::uint32_t i = 0; i < 4; ++i) {
    n.links.push_back({2 + i, i / 2, link(topology::LinkKind::kC2c, 225, 300)});
    n.links.push_back({6 + i, i / 2, link(topology::LinkKind::kPcie, 63, 150)});
  }
  n.links.push_back({0, 1, link(topology::LinkKind::kSocket, 100, 100)});
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(n);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  const topology::DeviceId hub = b.add_switch(leaf, "leaf0");
  for (int i = 0; i < 2; ++i) {
    const topology::BlockId block = b.add_block(t);
    for (std::uint32_t nic = 6; nic < 10; ++nic)
      b.connect(b.device(block, nic), hub, link(topology::LinkKind::kInfiniband, 50, 600));
  }
  const topology::Topology board = std::move(b).seal();
  const Router r(board, topology::RoutingPolicy::kStatic);
  const auto device = [&](const char* name) { return board.find(name).value(); };
  const topology::DeviceId gpu = device("node0.gpu0"), own = device("node0.nic0");
  EXPECT_EQ(r.exit_nic(gpu, own, device("node1.nic1")), device("node0.nic1"));
  EXPECT_EQ(r.exit_nic(gpu, own, device("node1.nic2")), own) << "one socket further";
}

TEST(Router, WithoutPxnEveryGpuSendsByItsOwnNic) {
  const topology::Topology t = ring_cluster();
  const Router r(t, topology::RoutingPolicy::kStatic, 0, false);
  const auto device = [&](const char* name) { return t.find(name).value(); };
  EXPECT_EQ(r.exit_nic(device("node0.gpu0"), device("node0.nic0"), device("node1.nic1")), device("node0.nic0"));
}

TEST(Router, StaticHashKeepsOneSpineAndSpraySplitsEvenly) {
  const topology::Topology t = small_cluster(2).seal();
  for (const topology::RoutingPolicy policy : {topology::RoutingPolicy::kStatic, topology::RoutingPolicy::kSpray}) {
    const Router r(t, policy, 3);
    std::map<topology::LinkId, double> up;
    for (std::uint64_t flow = 0; flow < 256; ++flow) {
      std::vector<LinkShare> path;
      ASSERT_TRUE(
          r.spread(t.gpus()[0], t.gpus()[3], t.find("node0.nic0").value(), t.find("node1.nic1").value(), flow, path)
              .ok());
      expect_conserved(t, t.gpus()[0], t.gpus()[3], path);
      for (const LinkShare& s : path)
        if (t.kind(t.to(s.link)) == topology::DeviceKind::kSpine) {
          EXPECT_DOUBLE_EQ(s.share, policy == topology::RoutingPolicy::kSpray ? 0.5 : 1.0);
          up[s.link] += s.share;
        }
    }
    ASSERT_EQ(up.size(), 2u);  // many flows use both spines
    for (const auto& [l, sum] : up) EXPECT_NEAR(sum, 128, policy == topology::RoutingPolicy::kSpray ? 1e-9 : 40);
  }
}

TEST(Router, SaysWhichPairIsCutOff) {
  topology::TopologyBuilder b = small_cluster(2);
  for (std::uint32_t l = 0; l < b.peek().link_count(); l += 2)
    if (b.peek().name(topology::LinkId{l}).find("node1.nic") != std::string::npos) b.fail(topology::LinkId{l});
  const topology::Topology t = std::move(b).seal();
  const Router r(t, topology::RoutingPolicy::kStatic);
  const Placement p(r, t.gpus());
  std::vector<LinkShare> path;
  const Status s = r.spread(p.gpu(0), p.gpu(2), p.nic(0, 0), p.nic(2, 0), 0, path);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, ErrorCode::kUnreachable);
  EXPECT_NE(s.error().message.find("node0.gpu0"), std::string::npos);
}

TEST(Router, SaysHowFarApartGpusAreThatNoGpuBetweenThemJoins) {
  topology::NodeTemplate chain;
  for (std::uint32_t g = 0; g < 4; ++g) {
    chain.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
    if (g > 0) chain.links.push_back({g - 1, g, link(topology::LinkKind::kNvlink, 75, 500)});
  }
  topology::TopologyBuilder b;
  b.add_block(b.add_template(chain));
  const topology::Topology t = std::move(b).seal();
  const Router r(t, topology::RoutingPolicy::kStatic);
  const auto gpus = t.gpus();
  constexpr auto kNoNic = kNone<topology::DeviceId>;
  std::vector<LinkShare> path;
  EXPECT_TRUE(r.spread(gpus[0], gpus[2], kNoNic, kNoNic, 0, path).ok()) << "one GPU between them passes on";
  const Status s = r.spread(gpus[0], gpus[3], kNoNic, kNoNic, 0, path);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, ErrorCode::kUnreachable);
  EXPECT_NE(s.error().message.find("no live path from node0.gpu0 to node0.gpu3: they are 3 links apart"),
            std::string::npos)
      << s.error().message;
}

TEST(Placement, SharesTwoEquallyNearNicsBetweenTwoGpus) {
  const topology::Topology t = small_cluster(2).seal();
  const Router r(t, topology::RoutingPolicy::kStatic);
  const Placement p(r, t.gpus());
  EXPECT_EQ(t.name(p.nic(0, 0)), "node0.nic0");
  EXPECT_EQ(t.name(p.nic(1, 0)), "node0.nic1");
  EXPECT_EQ(t.name(p.nic(3, 0)), "node1.nic1");
}

TEST(Placement, MovesToTheOtherNicWhenACableIsDead) {
  topology::TopologyBuilder b = small_cluster(2);
  for (std::uint32_t l = 0; l < b.peek().link_count(); l += 2)
    if (b.peek().name(topology::LinkId{l}) == "node1.nic0->leaf0") b.fail(topology::LinkId{l});
  const topology::Topology t = std::move(b).seal();
  const Router r(t, topology::RoutingPolicy::kStatic);
  const Placement p(r, t.gpus());
  EXPECT_EQ(t.name(p.nic(0, 0)), "node0.nic0");
  EXPECT_EQ(t.name(p.nic(2, 0)), "node1.nic1");
}

}  // namespace
}  // namespace busbar::routing
