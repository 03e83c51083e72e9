#include "busbar/floors/floor.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <tuple>

#include "busbar/base/random.h"
#include "busbar/collectives/builders.h"
#include "busbar/engine/engine.h"
#include "busbar/floors/floor_tiers.h"
#include "busbar/lowering/channels.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/random_machine.h"
#include "busbar/lowering/test_machines.h"

namespace busbar {
namespace {

constexpr std::uint64_t kGB = 1'000'000'000;

floors::Floor machine_floor(const routing::Router& router, const routing::Placement& placement,
                            const program::CollectiveCall& call, floors::FloorRates rates = floors::FloorRates::kWire) {
  return floors::MachineFloor(router, placement, call).at(call.bytes, rates);
}

floors::Floor floor_of(const topology::Topology& t, const program::CollectiveCall& call) {
  const routing::Router r(t, topology::RoutingPolicy::kStatic);
  const routing::Placement p(r, t.gpus());
  return machine_floor(r, p, call);
}

double floor_us(const topology::Topology& t, const program::CollectiveCall& call) {
  return floor_of(t, call).time.in_us();
}

program::CollectiveCall of_op(collectives::Collective op, std::uint32_t ranks, std::uint64_t bytes) {
  program::CollectiveCall c = lowering::test_call(ranks, "ring", bytes);
  c.op = op;
  return c;
}

topology::TopologyBuilder eight_gpus(bool reduces) {
  topology::NodeTemplate node;
  for (int g = 0; g < 8; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
  node.devices.back().device_class.reduces = reduces;
  for (std::uint32_t g = 0; g < 8; ++g)
    node.links.push_back({g, 8, topology::test_link(topology::LinkKind::kNvlink, 450, Duration())});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  return b;
}

TEST(Floor, OfEightGpusIsTheRingsUnlessTheSwitchReduces) {
  const double s_over_450 = 9e9 / 450e9 * 1e6;
  EXPECT_NEAR(floor_us(eight_gpus(false).seal(), lowering::test_call(8, "ring", 9 * kGB)), 1.75 * s_over_450, 1e-3);
  EXPECT_NEAR(floor_us(eight_gpus(true).seal(), lowering::test_call(8, "ring", 9 * kGB)), s_over_450, 1e-3);
  EXPECT_EQ(floor_of(eight_gpus(false).seal(), lowering::test_call(8, "ring", kGB)).kind, floors::CutKind::kAllPorts);
  EXPECT_EQ(floor_of(eight_gpus(true).seal(), lowering::test_call(8, "ring", kGB)).kind, floors::CutKind::kEndpoint);
}

TEST(Floor, OfTwoNodesIsSOverTheirCables) {
  // 2 x 8 x 400 Gb/s: S / 400 GB/s, plus GPU - NIC - switch - NIC - GPU
  const floors::Floor f = floor_of(lowering::pods_of_eight(2).seal(), lowering::test_call(16, "ring", 4 * kGB));
  EXPECT_NEAR(f.time.in_us(), 10'000 + 4, 1e-3);
  EXPECT_EQ(f.kind, floors::CutKind::kNode);
}

TEST(Floor, CountsWhatEachCollectiveMustMove) {
  const topology::Topology t = eight_gpus(false).seal();
  const std::pair<collectives::Collective, double> cases[] = {
      {collectives::Collective::kAllGather, 7.0 / 8}, {collectives::Collective::kReduceScatter, 7.0 / 8},
      {collectives::Collective::kBroadcast, 1.0},     {collectives::Collective::kReduce, 1.0},
      {collectives::Collective::kAllToAll, 7.0 / 8},  {collectives::Collective::kAllToAllV, 7.0 / 8},
      {collectives::Collective::kGather, 7.0 / 8},    {collectives::Collective::kScatter, 7.0 / 8}};
  for (const auto& [op, share] : cases)
    EXPECT_NEAR(floor_us(t, of_op(op, 8, 450 * kGB)), share * 1e6, 1e-3) << collectives::name_of(op);
  EXPECT_NEAR(floor_us(lowering::pods_of_eight(2).seal(), of_op(collectives::Collective::kAllToAll, 16, 400 * kGB)),
              4e6 + 4, 1e-3)
      << "each rank of a node sends half of its 400 GB to the other one: 8 x 200 GB over 8 x 50 GB/s";
}

TEST(Floor, HearsOfTheRootAloneWhereThereIsOne) {
  // Three GPUs in a row: the middle one is one link of 1 us from both, the ends are two from each other.
  topology::NodeTemplate node;
  for (int g = 0; g < 3; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  for (std::uint32_t g = 0; g < 2; ++g)
    node.links.push_back({g, g + 1, topology::test_link(topology::LinkKind::kNvlink, 450, Duration::us(1))});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  const topology::Topology t = std::move(b).seal();
  for (const collectives::Collective op : {collectives::Collective::kBroadcast, collectives::Collective::kReduce,
                                           collectives::Collective::kGather, collectives::Collective::kScatter})
    for (const std::uint32_t root : {0u, 1u, 2u}) {
      program::CollectiveCall c = of_op(op, 3, 3);
      c.root = root;
      EXPECT_NEAR(floor_us(t, c), root == 1 ? 1 : 2, 0.001) << collectives::name_of(op) << " " << root;
    }
}

TEST(Floor, OfAnUnevenAllToAllFollowsItsCounts) {
  const topology::Topology t = eight_gpus(false).seal();
  collectives::ScheduleSpec spec;
  spec.algorithm = "direct";
  spec.op = collectives::Collective::kAllToAllV;
  spec.ranks = 8;
  spec.pairs.hot = 1;  // every rank sends rank 0 three of ten parts, including rank 0
  spec.pairs.hot_chunks = 3;
  program::CollectiveCall c = of_op(spec.op, 8, 450 * kGB);
  c.schedule = std::make_shared<const collectives::Schedule>(collectives::build_schedule(spec).value());
  EXPECT_NEAR(floor_us(t, c), 7 * 0.3e6, 1e-3);
}

TEST(Floor, FindsTheSetOfRanksWithTheNarrowestWayOut) {
  const floors::Floor f = floor_of(lowering::two_pairs(), lowering::test_call(4, "ring", 4 * kGB));
  EXPECT_NEAR(f.time.in_us(), 4e9 / 40e9 * 1e6, 1e-3);
  EXPECT_EQ(f.kind, floors::CutKind::kRanks);
  EXPECT_EQ(f.cut, "what leaves ranks 0, 1");
}

/// Chips in a rectangle with links of 45 GB/s to their neighbours; closed: the first of a row with the last too.
topology::Topology chips(std::uint32_t width, std::uint32_t height, bool closed) {
  topology::NodeTemplate node;
  for (std::uint32_t g = 0; g < width * height; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  const topology::LinkClass link = topology::test_link(topology::LinkKind::kIci, 45, Duration());
  for (std::uint32_t y = 0; y < height; ++y)
    for (std::uint32_t x = 0; x < width; ++x) {
      if (x + 1 < width || closed) node.links.push_back({y * width + x, y * width + (x + 1) % width, link});
      if (y + 1 < height || closed) node.links.push_back({y * width + x, (y + 1) % height * width + x, link});
    }
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  return std::move(b).seal();
}

// All-to-all: S x (ranks inside) x (ranks outside) / ranks over the links between the two parts.
TEST(Floor, OfManyChipsIsTheNarrowestCutAcrossADimension) {
  const auto us = [](double inside, double outside, double links) {
    return 1e9 * inside * outside / (inside + outside) / (links * 45e9) * 1e6;
  };
  const struct {
    std::uint32_t width, height;
    bool closed;
    double expected_us;
  } cases[] = {{6, 4, true, us(12, 12, 2 * 4)},  {4, 6, true, us(12, 12, 2 * 4)}, {5, 7, true, us(15, 20, 2 * 5)},
               {6, 6, false, us(18, 18, 6)},     {21, 3, false, us(30, 33, 3)},   {16, 16, true, us(128, 128, 2 * 16)},
               {16, 16, false, us(128, 128, 16)}};
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} x {}", c.width, c.height));
    const program::CollectiveCall call = of_op(collectives::Collective::kAllToAll, c.width * c.height, kGB);
    const floors::Floor f = floor_of(chips(c.width, c.height, c.closed), call);
    EXPECT_NEAR(f.time.in_us(), c.expected_us, 1e-6 * c.expected_us);
    EXPECT_EQ(f.kind, floors::CutKind::kRanks);
  }
}

// Two groups of three, each member joined with each of the other group: 42 hops over 18 directed links. The best cut,
// of two and one, gives 0.3 S / b.
TEST(Floor, OfPairsWithoutANarrowCutCountsAllLinks) {
  topology::NodeTemplate node;
  for (int g = 0; g < 6; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  for (std::uint32_t a = 0; a < 3; ++a)
    for (std::uint32_t b = 3; b < 6; ++b)
      node.links.push_back({a, b, topology::test_link(topology::LinkKind::kNvlink, 100, Duration())});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  const floors::Floor f = floor_of(std::move(b).seal(), of_op(collectives::Collective::kAllToAll, 6, 100 * kGB));
  EXPECT_NEAR(f.time.in_us(), 42.0 / 6 / 18 * 1e6, 1);
  EXPECT_EQ(f.kind, floors::CutKind::kLinks);
}

/// `nodes` of two PCIe switches with `gpus` each; 64 GB/s per GPU, 30 GB/s from switch to CPU, one NUMA node per CPU,
/// 25 GB/s between the CPUs, a 12 GB/s NIC on the first switch.
topology::Topology pcie_servers(std::uint32_t nodes, std::uint32_t gpus, std::uint64_t upi) {
  topology::NodeTemplate node;
  for (std::uint32_t g = 0; g < 2 * gpus; ++g) {
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
    node.devices.back().numa = static_cast<std::int16_t>(g / gpus);
  }
  for (const char* name : {"pcie0", "pcie1", "cpu0", "cpu1", "nic0"}) {
    const std::string s = name;
    node.devices.push_back(topology::test_device(s[0] == 'p'   ? topology::DeviceKind::kPcieSwitch
                                                 : s[0] == 'c' ? topology::DeviceKind::kCpu
                                                               : topology::DeviceKind::kNic,
                                                 s));
    node.devices.back().numa = static_cast<std::int16_t>(s.back() - '0');
  }
  for (std::uint32_t g = 0; g < 2 * gpus; ++g)
    node.links.push_back({g, 2 * gpus + g / gpus, topology::test_link(topology::LinkKind::kPcie, 64, Duration())});
  for (std::uint32_t k = 0; k < 2; ++k)
    node.links.push_back(
        {2 * gpus + k, 2 * gpus + 2 + k, topology::test_link(topology::LinkKind::kPcie, 30, Duration())});
  node.links.push_back({2 * gpus + 2, 2 * gpus + 3, topology::test_link(topology::LinkKind::kSocket, upi, Duration())});
  node.links.push_back({2 * gpus + 4, 2 * gpus, topology::test_link(topology::LinkKind::kPcie, 64, Duration())});
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  for (std::uint32_t i = 0; i < nodes; ++i) b.add_block(t);
  if (nodes < 2) return std::move(b).seal();
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  const topology::DeviceId hub = b.add_switch(leaf, "leaf0");
  for (std::uint32_t i = 0; i < nodes; ++i)
    b.connect(b.device(static_cast<topology::BlockId>(i), 2 * gpus + 4), hub,
              topology::test_link(topology::LinkKind::kInfiniband, 12, Duration()));
  return std::move(b).seal();
}

TEST(Floor, NamesThePcieSwitchTheSocketOrTheNodeThatBinds) {
  const floors::Floor by_switch = floor_of(pcie_servers(1, 10, 300), lowering::test_call(20, "ring", 3 * kGB));
  EXPECT_EQ(by_switch.kind, floors::CutKind::kPcieSwitch) << by_switch.cut;
  EXPECT_NEAR(by_switch.time.in_us(), 3e9 / 30e9 * 1e6, 1e-3);
  const floors::Floor by_socket = floor_of(pcie_servers(1, 10, 25), lowering::test_call(20, "ring", 3 * kGB));
  EXPECT_EQ(by_socket.kind, floors::CutKind::kNuma) << by_socket.cut;
  EXPECT_NEAR(by_socket.time.in_us(), 3e9 / 25e9 * 1e6, 1e-3);
  const floors::Floor by_node = floor_of(pcie_servers(2, 10, 25), lowering::test_call(40, "ring", 3 * kGB));
  EXPECT_EQ(by_node.kind, floors::CutKind::kNode) << by_node.cut;
  EXPECT_NEAR(by_node.time.in_us(), 3e9 / 12e9 * 1e6, 1e-3);
}

/// Three tiers, all cables 10 GB/s: `pods` of `leaves` with 4 nodes of one GPU; one cable from each leaf to its pod's
/// spine, one from each spine to the core.
topology::Topology three_tiers(std::uint32_t pods, std::uint32_t leaves, Duration latency = {}) {
  topology::NodeTemplate node;
  node.devices = {topology::test_device(topology::DeviceKind::kGpu, "gpu0"),
                  topology::test_device(topology::DeviceKind::kNic, "nic0")};
  node.links = {{0, 1, topology::test_link(topology::LinkKind::kPcie, 100, Duration())}};
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  for (std::uint32_t i = 0; i < pods * leaves * 4; ++i) b.add_block(t);
  const auto add = [&](topology::DeviceKind kind, std::string name) {
    topology::DeviceClass c;
    c.kind = kind;
    return b.add_switch(c, std::move(name));
  };
  const topology::LinkClass cable = topology::test_link(topology::LinkKind::kInfiniband, 10, latency);
  const topology::DeviceId core = add(topology::DeviceKind::kCore, "core0");
  for (std::uint32_t p = 0; p < pods; ++p) {
    const topology::DeviceId spine = add(topology::DeviceKind::kSpine, "spine" + std::to_string(p));
    b.connect(spine, core, cable);
    for (std::uint32_t l = 0; l < leaves; ++l) {
      const topology::DeviceId leaf = add(topology::DeviceKind::kLeaf, "leaf" + std::to_string(p * leaves + l));
      b.connect(leaf, spine, cable);
      for (std::uint32_t i = 0; i < 4; ++i)
        b.connect(b.device(static_cast<topology::BlockId>((p * leaves + l) * 4 + i), 1), leaf, cable);
    }
  }
  return std::move(b).seal();
}

// NICs with cables of 12 GB/s behind PCIe links of 5 GB/s: S x 19/20 leaves each.
TEST(Floor, OfNicsIsThatOfTheNarrowerOfTheirLinks) {
  topology::NodeTemplate node;
  node.devices = {topology::test_device(topology::DeviceKind::kGpu, "gpu0"),
                  topology::test_device(topology::DeviceKind::kPcieSwitch, "pcie0"),
                  topology::test_device(topology::DeviceKind::kNic, "nic0")};
  node.links = {{0, 1, topology::test_link(topology::LinkKind::kPcie, 64, Duration())},
                {1, 2, topology::test_link(topology::LinkKind::kPcie, 5, Duration())}};
  topology::TopologyBuilder b;
  const std::uint32_t t = b.add_template(node);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  const topology::DeviceId hub = b.add_switch(leaf, "leaf0");
  constexpr std::uint32_t kNodes = 20;  // more than 16 ranks, all of whose sets are tried
  for (std::uint32_t i = 0; i < kNodes; ++i)
    b.connect(b.device(b.add_block(t), 2), hub, topology::test_link(topology::LinkKind::kInfiniband, 12, Duration()));
  const floors::Floor f = floor_of(std::move(b).seal(), of_op(collectives::Collective::kAllToAll, kNodes, 5 * kGB));
  EXPECT_NEAR(f.time.in_us(), 19.0 / 20 * 1e6, 1e-3);
  EXPECT_EQ(f.cut, "NICs of node0");
}

TEST(Floor, FollowsOversubscriptionUpTheTiers) {
  // A leaf with 4 of 40 GPUs sends 4 x 36/40 S up one cable; a pod with 20 GPUs sends 20 x 20/40 S.
  const floors::Floor pod = floor_of(three_tiers(2, 5), of_op(collectives::Collective::kAllToAll, 40, kGB));
  EXPECT_EQ(pod.kind, floors::CutKind::kPod) << pod.cut;
  EXPECT_NEAR(pod.time.in_us(), 10 * 1e9 / 10e9 * 1e6, 1e-3);
  const floors::Floor leaf = floor_of(three_tiers(1, 5), of_op(collectives::Collective::kAllToAll, 20, kGB));
  EXPECT_EQ(leaf.kind, floors::CutKind::kLeaf) << leaf.cut;
  EXPECT_NEAR(leaf.time.in_us(), 4 * 16.0 / 20 * 1e9 / 10e9 * 1e6, 1e-3);
  EXPECT_NEAR(floor_us(three_tiers(2, 5), of_op(collectives::Collective::kAllReduce, 40, kGB)), 2 * 39.0 / 40 * 1e5,
              1e-3)
      << "40 nodes that do not reduce for each other pass on 78 S over 40 cables";
}

// Sprayed flows cross bundles of cables, hashed ones a cable each: the latency of the farthest pair is the same.
TEST(Floor, OfFewBytesIsTheLatencyOverBundlesAsOverCables) {
  const topology::Topology t = three_tiers(5, 5, Duration::ns(500));
  const routing::Router hashed(t, topology::RoutingPolicy::kStatic), sprayed(t, topology::RoutingPolicy::kSpray);
  ASSERT_NE(sprayed.bundles(), nullptr);
  const routing::Placement a(hashed, t.gpus()), b(sprayed, t.gpus());
  for (const std::uint32_t ranks : {100u, 80u, 40u}) {  // above 64 ranks no pair has a floor of its own
    const program::CollectiveCall c = of_op(collectives::Collective::kBroadcast, ranks, 1);
    EXPECT_EQ(machine_floor(hashed, a, c).time, machine_floor(sprayed, b, c).time) << ranks;
    EXPECT_NEAR(machine_floor(sprayed, b, c).time.in_us(), 6 * 0.5, 1e-3) << ranks;
  }
}

TEST(FloorTiers, HoldLeavesThenPodsThenAllAndServeEveryCall) {
  const topology::Topology t = three_tiers(2, 5);  // 2 pods of 5 leaves of 4 GPUs
  floors::FloorTiers tiers(t);
  for (const auto& [tier, below, up] : {std::tuple(0u, 4u, 10.0), {1u, 20u, 10.0}, {2u, 40u, 0.0}}) {
    const floors::FloorTiers::Tier* at = tiers.at(tier);
    ASSERT_NE(at, nullptr);
    for (std::uint32_t b = 0; b < 40; ++b) EXPECT_EQ(at->cluster_of[b], b / below * below) << tier;
    EXPECT_NEAR(at->up[0][0] * 1e3, up, 1e-9) << tier << " in GB/s";
    EXPECT_NEAR(at->down[0][0] * 1e3, up, 1e-9) << tier;
  }
  EXPECT_EQ(tiers.at(3), nullptr);
  const routing::Router r(t, topology::RoutingPolicy::kStatic);
  const routing::Placement p(r, t.gpus());
  for (const std::uint32_t ranks : {40u, 20u, 4u, 30u}) {
    const program::CollectiveCall c = of_op(collectives::Collective::kAllToAll, ranks, kGB);
    EXPECT_EQ(floors::MachineFloor(r, p, c, tiers).at(c.bytes).time, machine_floor(r, p, c).time) << ranks;
  }
}

// The ends of a chain of four NVLinks: the second GPU reaches all over NVLink, but the first and the last need two
// relays to reach each other and use PCIe instead, which then counts for every cut with any root.
TEST(Floor, CountsLinksThatPairsWithoutTheRootUse) {
  topology::NodeTemplate node;
  for (int g = 0; g < 4; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kPcieSwitch, "pcie0"));
  for (std::uint32_t g = 0; g < 4; ++g)
    node.links.push_back({g, 4, topology::test_link(topology::LinkKind::kPcie, 20, Duration())});
  for (std::uint32_t g = 1; g < 4; ++g)
    node.links.push_back({g - 1, g, topology::test_link(topology::LinkKind::kNvlink, 30, Duration())});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  const topology::Topology t = std::move(b).seal();
  for (const std::uint32_t root : {0u, 1u, 2u}) {
    program::CollectiveCall c = of_op(collectives::Collective::kBroadcast, 4, kGB);
    c.root = root;
    EXPECT_NEAR(floor_us(t, c), 1e9 / 50e9 * 1e6, 1e-3) << root;
  }
}

/// GPUs that are all linked to each other by links of 50 GB/s, of which payload reaches half.
topology::TopologyBuilder joined_gpus(std::uint32_t gpus) {
  topology::NodeTemplate node;
  topology::LinkClass half = topology::test_link(topology::LinkKind::kNvlink, 50, Duration());
  half.efficiency = 0.5;
  for (std::uint32_t g = 0; g < gpus; ++g) {
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
    for (std::uint32_t h = 0; h < g; ++h) node.links.push_back({h, g, half});
  }
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  return b;
}

TEST(Floor, AtPayloadRatesCountsPortsThatLeadToMembers) {
  const topology::Topology t = joined_gpus(8).seal();
  const routing::Router r(t, topology::RoutingPolicy::kStatic);
  const routing::Placement p(r, t.gpus());
  const program::CollectiveCall call = of_op(collectives::Collective::kAllGather, 3, 3 * kGB);
  EXPECT_NEAR(machine_floor(r, p, call).time.in_us(), 2e9 / (7 * 50e9) * 1e6, 1e-3);
  const floors::Floor reachable = machine_floor(r, p, call, floors::FloorRates::kPayload);
  EXPECT_NEAR(reachable.time.in_us(), 2e9 / (2 * 25e9) * 1e6, 1e-3) << reachable.cut;
}

TEST(Floor, AtPayloadRatesCountsPortsThatLeadToRelays) {
  // A square of chips: members 0 and 3 are connected only over 1 and 2.
  topology::NodeTemplate node;
  for (int g = 0; g < 4; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  for (const auto& [a, b] : {std::pair(0u, 1u), {0u, 2u}, {1u, 3u}, {2u, 3u}})
    node.links.push_back({a, b, topology::test_link(topology::LinkKind::kIci, 50, Duration())});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  const topology::Topology t = std::move(b).seal();
  const routing::Router r(t, topology::RoutingPolicy::kStatic);
  const routing::Placement p(r, t.gpus());
  program::CollectiveCall call = of_op(collectives::Collective::kAllGather, 2, 2 * kGB);
  call.groups.listed = {0, 3};
  call.groups.listed_groups = 1;
  call.groups.inner.clear();
  const double us = machine_floor(r, p, call, floors::FloorRates::kPayload).time.in_us();
  EXPECT_GE(us, 1e9 / 100e9 * 1e6 * (1 - 1e-9));
  EXPECT_LE(us, 1e9 / 50e9 * 1e6 * (1 + 1e-9));
}

TEST(Floor, OfMemoryIsReadingAndWritingOnce) {
  topology::TopologyBuilder b = eight_gpus(true);
  b.set_gpu_memory_rate(BytesPerSecond{100'000'000'000});
  const topology::Topology t = std::move(b).seal();
  const std::pair<collectives::Collective, double> cases[] = {
      {collectives::Collective::kAllReduce, 2},   {collectives::Collective::kReduceScatter, 1 + 1.0 / 8},
      {collectives::Collective::kAllGather, 1},   {collectives::Collective::kReduce, 2},
      {collectives::Collective::kBroadcast, 1},   {collectives::Collective::kAllToAll, 2 * 7.0 / 8},
      {collectives::Collective::kGather, 7.0 / 8}};
  for (const auto& [op, share] : cases) {
    const floors::Floor f = floor_of(t, of_op(op, 8, 100 * kGB));
    EXPECT_EQ(f.kind, floors::CutKind::kMemory) << collectives::name_of(op);
    EXPECT_EQ(f.cut, "memory of node0.gpu0");
    EXPECT_NEAR(f.time.in_us(), share * 1e6, 1e-3) << collectives::name_of(op);
  }
}

RC_GTEST_PROP(Floor, NoScheduleOfOursOnARandomMachineGoesBelow, ()) {
  RandomStream random(*rc::gen::arbitrary<std::uint64_t>(), "floor machines");
  topology::TopologyBuilder machine(lowering::random_machine(random));
  if (random.below(2) == 0) machine.set_gpu_memory_rate(BytesPerSecond{(1 + random.below(500)) * kGB});
  const topology::Topology t = std::move(machine).seal();
  const routing::Router r(t, topology::RoutingPolicy::kStatic);
  const routing::Placement p(r, t.gpus());
  const auto flow = engine::make_flow_engine(r, p, {});
  const auto analytic = engine::make_analytic_engine(r, p, {});
  const auto n = static_cast<std::uint32_t>(t.gpus().size());
  for (int o = 0; o <= static_cast<int>(collectives::Collective::kAllToAllV); ++o) {
    program::CollectiveCall c = lowering::test_call(n, "", 1 + random.below(std::uint64_t{1} << random.below(31)));
    c.op = static_cast<collectives::Collective>(o);
    const bool rooted = c.op == collectives::Collective::kBroadcast || c.op == collectives::Collective::kReduce ||
                        c.op == collectives::Collective::kGather || c.op == collectives::Collective::kScatter;
    c.root = rooted ? static_cast<std::uint32_t>(random.below(n)) : 0;
    collectives::ScheduleSpec spec;
    spec.root = c.root;
    spec.op = c.op;
    spec.ranks = n;
    spec.ranks_per_group = lowering::ranks_per_domain(c, t, p);
    const floors::Floor floor = machine_floor(r, p, c, floors::FloorRates::kPayload);
    if (machine_floor(r, p, c).time > floor.time) RC_FAIL("payloads are faster than wires");
    for (const std::string& algorithm : collectives::algorithms_for(spec, true)) {
      c.algorithm = algorithm;
      c.chunks = 1 + static_cast<std::uint32_t>(random.below(20));
      for (engine::Engine* e : {flow.get(), analytic.get()}) {
        const auto id = e->prepare(c);
        if (!id.ok()) continue;                                            // not on this machine
        const double us = e->time_alone(*id).in_us() * (1 + 1e-9) + 1e-6;  // rounding, a picosecond
        const double algorithm_us = e->lowered(*id)->algorithm_floor_ps * 1e-6;
        const std::string text =
            fmt::format("{} {} {} us, floor {} us by {}, of the algorithm {} us", algorithm, collectives::name_of(c.op),
                        us, floor.time.in_us(), floor.cut, algorithm_us);
        if (us < floor.time.in_us() || us < algorithm_us) RC_FAIL(text);
      }
    }
  }
}

}  // namespace
}  // namespace busbar
