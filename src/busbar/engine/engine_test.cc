#include "busbar/engine/engine.h"

#include <gtest/gtest.h>

#include "busbar/base/random.h"
#include "busbar/collectives/builders.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/test_machines.h"
#include "busbar/topology/selector.h"

namespace busbar {
namespace {

struct Machine {
  Topology topology;
  Router router;
  Placement placement;
  explicit Machine(TopologyBuilder b, RoutingPolicy policy = RoutingPolicy::kStatic)
      : topology(std::move(b).seal()), router(topology, policy), placement(router, topology.gpus()) {}
  std::unique_ptr<Engine> engine(bool flow, const Shortcuts& shortcuts = {}) const {
    EngineOptions o;
    o.shortcuts = shortcuts;
    return flow ? make_flow_engine(router, placement, o) : make_analytic_engine(router, placement, o);
  }
  double milliseconds(bool flow, const CollectiveCall& call, const Shortcuts& shortcuts = {}) const {
    const auto e = engine(flow, shortcuts);
    const CallId id = e->prepare(call).value();
    e->start(id, 1, SimTime());
    const auto done = e->advance(SimTime::max());
    EXPECT_TRUE(done.has_value());
    EXPECT_EQ(done->at - SimTime(), e->time_alone(id));
    return done->at.since_start().in_us() / 1000;
  }
};

// Closed forms: docs/models/flow.md. Tolerance 0.1 % as promised there.
TEST(Engines, RingOnOneSwitchMatchesTheClosedForm) {
  const std::pair<std::uint32_t, double> cases[] = {
      {8, 4.190}, {64, 4.824}, {512, 5.785}, {4096, 12.961}, {65536, 135.842}};
  for (const auto& [n, ms] : cases) {
    const Machine m(one_switch(n));
    for (const bool flow : {false, true})
      EXPECT_NEAR(m.milliseconds(flow, test_call(n, "ring", kGiB)), ms, ms * 1e-3) << n;
  }
}

TEST(Engines, HierarchicalMatchesTheClosedForm) {
  const std::pair<std::uint32_t, double> cases[] = {{64, 8.943}, {512, 9.978}, {4096, 13.636}, {16384, 25.932}};
  for (const auto& [n, ms] : cases) {
    const Machine m(pods_of_eight(n / 8));
    for (const bool flow : {false, true})
      EXPECT_NEAR(m.milliseconds(flow, test_call(n, "hierarchical", kGiB)), ms, ms * 1e-3) << n;
  }
}

TEST(Engines, PipelinedChunksStayBetweenFloorAndPhaseByPhase) {
  const std::tuple<std::uint32_t, double, double> cases[] = {
      {64, 4.698, 8.943}, {512, 5.285, 9.978}, {4096, 5.358, 13.636}};
  for (const auto& [n, floor, steps] : cases) {
    const Machine m(pods_of_eight(n / 8));
    for (const bool flow : {false, true}) {
      const double ms = m.milliseconds(flow, test_call(n, "hierarchical", kGiB, 64));
      EXPECT_GT(ms, floor) << n;
      EXPECT_LT(ms, steps) << n;
    }
  }
}

// A chain 0 -> 1 -> 2 that a buffer goes down in k pieces takes (k + 1) / k S / rate: the links fill one after another,
// however many channels share them.
TEST(Engines, ChannelsThatShareLinksFillThemTogether) {
  const Machine m(one_switch(3));
  const GivenTree down{{0, 1, 2}, {0, 0, 1}};
  for (const std::uint32_t channels : {1u, 2u, 5u}) {
    CollectiveCall call = test_call(3, "tree", kGiB, 4);
    call.op = Collective::kBroadcast;
    const std::vector<WeightedTree> trees(channels, WeightedTree{down, 1});
    call.schedule = std::make_shared<const Schedule>(build_tree_packing(call.op, 3, 0, trees).value());
    for (const bool flow : {false, true})
      EXPECT_NEAR(m.milliseconds(flow, call), 1.25 * kGiB / 450e9 * 1e3 + 0.002, 1e-4) << channels;
  }
}

TEST(Engines, OneHalfRateEdgeCostsTheLongestPathNotTheSum) {
  const std::pair<std::uint32_t, double> cases[] = {{512, 9.53}, {4096, 12.96}, {65536, 135.84}};
  for (const auto& [n, ms] : cases) {
    TopologyBuilder b = one_switch(n);
    b.degrade(LinkId{2 * 5}, 0.5);  // gpu5's cable: its two edges of the ring
    const Machine m(std::move(b));
    for (const bool flow : {false, true})
      EXPECT_NEAR(m.milliseconds(flow, test_call(n, "ring", kGiB)), ms, ms * 1e-3) << n;
  }
}

TEST(Engines, FoldingChangesNothing) {
  TopologyBuilder b = pods_of_eight(16);
  b.degrade(LinkId{4}, 0.5);
  b.degrade(LinkId{4 + 2 * 16 * 5}, 0.25);
  const Machine m(std::move(b));
  for (const char* algorithm : {"ring", "tree", "hierarchical"})
    for (const std::uint32_t chunks : {1u, 16u})
      EXPECT_EQ(m.milliseconds(true, test_call(128, algorithm, kGiB, chunks)),
                m.milliseconds(true, test_call(128, algorithm, kGiB, chunks), Shortcuts::none()))
          << algorithm << chunks;
}

TEST(Engines, DoublingEveryRateHalvesTimesWithoutLatency) {
  for (const std::uint64_t rate : {100, 200}) {
    NodeTemplate node;
    for (int g = 0; g < 4; ++g) node.devices.push_back(test_device(DeviceKind::kGpu, "gpu" + std::to_string(g)));
    node.devices.push_back(test_device(DeviceKind::kNvSwitch, "nvswitch0"));
    for (std::uint32_t g = 0; g < 4; ++g) node.links.push_back({g, 4, test_link(LinkKind::kNvlink, rate, Duration())});
    TopologyBuilder b;
    b.add_block(b.add_template(node));
    const Machine m(std::move(b));
    // 2(n-1)/n S / rate
    EXPECT_NEAR(m.milliseconds(true, test_call(4, "ring", 800'000'000)), 1.5 * 0.8e9 / (rate * 1e9) * 1e3, 1e-6);
  }
}

// 2(n-1)/n S over the eight NICs of a node, each channel's first send over the wire being one of 2(n-1).
TEST(Engines, ARingOverNodesUsesEveryNic) {
  for (const std::uint32_t nodes : {2u, 8u}) {
    const Machine m(pods_of_eight(nodes));
    const double n = 8 * nodes, sends = 2 * (n - 1), ms = sends / n * kGiB / (8 * 50e9) * 1e3;
    for (const bool flow : {false, true}) {
      const double took = m.milliseconds(flow, test_call(8 * nodes, "ring", kGiB));
      EXPECT_GT(took, ms);
      EXPECT_LT(took, ms + sends * 5e-3);  // at most 5 us a send
    }
  }
}

TEST(Engines, ChannelsAskedForUseAsManyNics) {
  const Machine m(pods_of_eight(4));
  CollectiveCall call = test_call(32, "ring", kGiB);
  double before = 0;
  for (const std::uint32_t channels : {8u, 4u, 2u, 1u}) {
    call.channels = channels;
    const auto e = m.engine(true);
    const CallId id = e->prepare(call).value();
    EXPECT_EQ(e->lowered(id)->channels, channels);
    const double ms = m.milliseconds(true, call), wire_ms = 2 * 31 / 32.0 * kGiB / (channels * 50e9) * 1e3;
    EXPECT_NEAR(ms, wire_ms, 62 * 5e-3) << channels;
    EXPECT_GT(ms, before);
    before = ms;
  }
}

TEST(Engines, SmallCallsUseFewerChannels) {
  const Machine m(pods_of_eight(4));
  const auto e = m.engine(true);
  for (const auto& [bytes, channels] : {std::pair(4, 1u), {3 * 4096, 3u}, {1 << 20, 8u}})
    EXPECT_EQ(e->lowered(e->prepare(test_call(32, "ring", static_cast<std::uint64_t>(bytes))).value())->channels,
              channels)
        << bytes;
}

TEST(Engines, ADeadNicCostsARingOneChannelInEight) {
  TopologyBuilder b = pods_of_eight(4);
  for (const LinkId l : select_cables(b.peek(), "node2.nic5-leaf0").value()) b.fail(l);
  const Machine m(std::move(b));
  const auto e = m.engine(true);
  const CallId id = e->prepare(test_call(32, "ring", kGiB)).value();
  EXPECT_EQ(e->lowered(id)->channels, 7u);
  EXPECT_NEAR(m.milliseconds(true, test_call(32, "ring", kGiB)), 2 * 31 / 32.0 * kGiB / (7 * 50e9) * 1e3, 0.4);
}

TEST(Engines, ATreeOverNodesUsesMoreThanOneNic) {
  const Machine m(pods_of_eight(8));
  CollectiveCall call = test_call(64, "tree", kGiB, 64);
  const double all = m.milliseconds(true, call);
  call.channels = 2;
  EXPECT_LT(all, 0.25 * m.milliseconds(true, call));
}

TEST(Engines, AGpuWithTwoNicsUsesBothWithEveryAlgorithm) {
  for (const char* algorithm : {"ring", "tree", "hierarchical", "halving_doubling", "direct"}) {
    double ms[2];
    for (const std::uint32_t nics : {1u, 2u}) {
      const Machine m(single_gpu_nodes(4, nics));
      ms[nics - 1] = m.milliseconds(true, test_call(4, algorithm, kGiB));
    }
    EXPECT_NEAR(ms[1], ms[0] / 2, ms[0] * 0.01) << algorithm;
  }
}

/// GPUs 0 and 1 are joined by NVLink, 0 and 2 over a PCIe switch.
TEST(Engines, ASendHasTheOverheadOfTheLinksItTakes) {
  const Topology topology = two_pairs();
  const Router router(topology, RoutingPolicy::kStatic);
  const Placement placement(router, topology.gpus());
  EngineOptions o;
  o.protocol.step_scale_up = Duration::us(2);
  o.protocol.step_server = Duration::us(5);
  o.protocol.step_network = Duration::us(11);
  for (const bool flow : {false, true}) {
    const auto e = flow ? make_flow_engine(router, placement, o) : make_analytic_engine(router, placement, o);
    const auto us = [&](std::uint32_t to) {
      return e->time_alone(e->prepare(pair_transfer(0, to, 1'000'000)).value()).in_us();
    };
    EXPECT_NEAR(us(1), 2 + 20, 1e-3);  // 1 MB at 50 GB/s
    EXPECT_NEAR(us(2), 5 + 50, 1e-3);  // and at 20 GB/s
  }
}

TEST(Engines, AChannelMovesNoMoreThanItsRate) {
  const Machine m(one_switch(8));
  CollectiveCall call = test_call(8, "ring", kGiB);
  for (const std::uint32_t channels : {1u, 4u, 64u}) {
    call.channels = channels;
    EngineOptions o;
    o.protocol.channel_rate = BytesPerSecond{20'000'000'000};
    const auto e = make_flow_engine(m.router, m.placement, o);
    const double rate = std::min(20e9 * channels, 450e9);
    EXPECT_NEAR(e->time_alone(e->prepare(call).value()).in_s() * 1e3, 1.75 * kGiB / rate * 1e3 + 14e-3, 1e-3);
  }
}

// Which rank runs where is a name: with paths chosen by hashes too.
TEST(Engines, RelabellingRanksOfAHashedFabricChangesNothing) {
  RandomStream random(3, "labels");
  for (int i = 0; i < 5; ++i) {
    const Machine m(leaf_spine(8, 4));
    std::vector<DeviceId> gpus(m.topology.gpus().begin(), m.topology.gpus().end());
    CollectiveCall call = test_call(32, "ring", kGiB);
    const double before = m.milliseconds(true, call);
    call.groups = GroupFamily{};
    call.groups.listed_groups = 1;
    std::vector<std::uint32_t> label(32);
    for (std::uint32_t r = 0; r < 32; ++r) label[r] = r;
    for (std::uint32_t r = 31; r > 0; --r) std::swap(label[r], label[random.below(r + 1)]);
    std::vector<DeviceId> relabelled(32);
    for (std::uint32_t r = 0; r < 32; ++r) relabelled[label[r]] = gpus[r];
    for (std::uint32_t r = 0; r < 32; ++r) call.groups.listed.push_back(label[r]);  // the same GPUs in the same order
    const Placement placement(m.router, relabelled);
    const auto e = make_flow_engine(m.router, placement, {});
    EXPECT_EQ(e->time_alone(e->prepare(call).value()).in_us() / 1000, before);
  }
}

// Two transfers into one GPU: 450 GB/s shared. The short one ends at 2 x its time alone, then the long one speeds up.
TEST(FlowEngine, TransfersShareALinkAndFreeItWhenTheyEnd) {
  const Machine m(one_switch(4));
  const auto e = m.engine(true);
  const CallId small = e->prepare(pair_transfer(0, 3, 450'000'000)).value();    // 1 ms + 1 us alone
  const CallId large = e->prepare(pair_transfer(1, 3, 1'350'000'000)).value();  // 3 ms + 1 us alone
  e->start(small, 1, SimTime());
  e->start(large, 2, SimTime());
  const auto first = e->advance(SimTime::max()), second = e->advance(SimTime::max());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->tag, 1u);
  EXPECT_NEAR(first->at.since_start().in_us(), 2000, 2);
  EXPECT_NEAR(second->at.since_start().in_us(), 4000, 3);
  EXPECT_FALSE(e->advance(SimTime::max()).has_value());
}

TEST(FlowEngine, ALateStarterSlowsARunThatWentAlone) {
  const Machine m(one_switch(4));
  const auto e = m.engine(true);
  const CallId a = e->prepare(pair_transfer(0, 3, 900'000'000)).value();  // 2 ms alone
  const CallId b = e->prepare(pair_transfer(1, 3, 900'000'000)).value();
  e->start(a, 1, SimTime());
  EXPECT_FALSE(e->advance(SimTime::at(Duration::us(1000))).has_value());
  e->start(b, 2, SimTime::at(Duration::us(1000)));  // a has half left: both share until a ends at 3 ms, b ends at 4 ms
  const auto first = e->advance(SimTime::max()), second = e->advance(SimTime::max());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->tag, 1u);
  EXPECT_NEAR(first->at.since_start().in_us(), 3000, 3);
  EXPECT_NEAR(second->at.since_start().in_us(), 4000, 4);
}

TEST(FlowEngine, ConservesBytesOnLinks) {
  const Machine m(one_switch(8));
  const auto e = m.engine(true);
  const CallId id = e->prepare(test_call(8, "ring", 8000)).value();
  e->start(id, 1, SimTime());
  e->start(id, 2, SimTime());
  while (e->advance(SimTime::max())) {
  }
  for (const double bytes : e->link_bytes()) EXPECT_NEAR(bytes, 2 * 2 * 7 * 1000, 1e-6);  // 2(n-1)/n S, twice
}

TEST(Engines, AlgorithmFloorIsNeverAboveTheTime) {
  RandomStream random(1, "floors");
  for (int i = 0; i < 40; ++i) {
    TopologyBuilder b = pods_of_eight(4);
    for (int d = 0; d < 3; ++d)
      b.degrade(static_cast<LinkId>(random.below(b.peek().link_count())), 0.1 + 0.8 * random.uniform());
    const Machine m(std::move(b));
    for (const char* algorithm : {"ring", "tree", "hierarchical"}) {
      const auto e = m.engine(true);
      const CallId id = e->prepare(test_call(32, algorithm, 1 + random.below(kGiB), 1 + random.below(8))).value();
      EXPECT_GE(static_cast<double>(e->time_alone(id).in_ps()), e->lowered(id)->algorithm_floor_ps * (1 - 1e-9))
          << algorithm;
    }
  }
}

TEST(Engines, RelabellingRanksOfASymmetricMachineChangesNothing) {
  const Machine m(one_switch(16));
  CollectiveCall c = test_call(16, "ring", kGiB);
  const double before = m.milliseconds(true, c);
  c.groups.listed_groups = 1;
  for (std::uint32_t r = 0; r < 16; ++r) c.groups.listed.push_back((r * 5 + 3) % 16);
  EXPECT_EQ(m.milliseconds(true, c), before);
}

// Every pair has a route of its own: latency once, then (n - 1)/n S through each port.
TEST(Engines, DirectAllToAllTakesLatencyAndTheBytesOfAPort) {
  const Machine m(one_switch(8));
  for (const char* algorithm : {"direct", "pairwise"})
    for (const bool flow : {false, true}) {
      CollectiveCall c = test_call(8, algorithm, 8 * 450'000'000ull);
      c.op = Collective::kAllToAll;
      const double latency_us = std::string(algorithm) == "direct" ? 1 : 7;  // one round, or seven after each other
      EXPECT_NEAR(m.milliseconds(flow, c), 7 + latency_us / 1000, 1e-5) << algorithm;
    }
}

// By a matrix: what each port sends and receives bounds it, and the busiest port decides.
TEST(Engines, AnAllToAllByMatrixTakesTheBytesOfTheBusiestPort) {
  const Machine m(one_switch(4));
  CollectiveCall c = test_call(4, "direct", 900'000'000);  // 100 MB a chunk: rank 0 sends nine
  c.op = Collective::kAllToAllV;
  const std::uint32_t chunks[4][4] = {{0, 2, 3, 4}, {1, 0, 1, 1}, {1, 1, 0, 1}, {1, 2, 1, 0}};
  c.pairs.begin = {0};
  for (const auto& row : chunks)
    for (const std::uint32_t n : row) c.pairs.begin.push_back(c.pairs.begin.back() + n);
  for (const bool flow : {false, true}) EXPECT_NEAR(m.milliseconds(flow, c), 900e6 / 450e9 * 1e3 + 1e-3, 1e-6);
  c.pairs = {};
  c.pairs.hot = 1;  // everyone sends rank 0 five chunks and the others one: it receives 15 of the 8 a rank has
  c.pairs.hot_chunks = 5;
  for (const bool flow : {false, true}) EXPECT_NEAR(m.milliseconds(flow, c), 900e6 * 15 / 8 / 450e9 * 1e3 + 1e-3, 1e-6);
}

TEST(Engines, AReducingSwitchBeatsTheRingAndNeverItsPorts) {
  TopologyBuilder plain = one_switch(8);
  EXPECT_FALSE(Machine(std::move(plain)).engine(true)->prepare(test_call(8, "nvls", kGiB)).ok());
  NodeTemplate node;
  for (int g = 0; g < 8; ++g) node.devices.push_back(test_device(DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.devices.push_back(test_device(DeviceKind::kNvSwitch, "nvswitch0"));
  node.devices.back().device_class.reduces = true;
  for (std::uint32_t g = 0; g < 8; ++g)
    node.links.push_back({g, 8, test_link(LinkKind::kNvlink, 450, Duration::ns(500))});
  TopologyBuilder b;
  b.add_block(b.add_template(node));
  const Machine m(std::move(b));
  const double port_ms = kGiB / 450e9 * 1e3;
  for (const bool flow : {false, true}) {
    const double ms = m.milliseconds(flow, test_call(8, "nvls", kGiB, 64));
    EXPECT_GT(ms, port_ms);
    EXPECT_LT(ms, m.milliseconds(flow, test_call(8, "ring", kGiB)));
  }
}

TEST(Engines, ForgetACallThatCouldNotBeLowered) {
  NodeTemplate node;  // the first two GPUs reach each other, the third nobody
  for (int g = 0; g < 3; ++g) node.devices.push_back(test_device(DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.links.push_back({0, 1, test_link(LinkKind::kNvlink, 100, Duration())});
  TopologyBuilder b;
  b.add_block(b.add_template(node));
  const Topology t = std::move(b).seal();
  const Router r(t, RoutingPolicy::kStatic);
  const Placement p(r, t.gpus());
  const auto fresh = make_flow_engine(r, p, {}), used = make_flow_engine(r, p, {});
  EXPECT_FALSE(used->prepare(test_call(3, "ring", 1'000'000)).ok());
  EXPECT_FALSE(used->prepare(test_call(3, "ring", 1'000'000, 4)).ok());
  const CollectiveCall c = test_call(2, "ring", 1'000'000);
  EXPECT_EQ(used->time_alone(used->prepare(c).value()), fresh->time_alone(fresh->prepare(c).value()));
}

// A call that has met nobody may be told to the engine late: it ends, and shares, as if it had been there in time.
TEST(FlowEngine, ACallStartedInThePastSharesAsIfItHadBeenThere) {
  const Machine m(pods_of_eight(2));
  CollectiveCall inside = test_call(8, "ring", kGiB), across = test_call(16, "ring", kGiB);
  const auto ends = [&](bool late) {
    const auto e = m.engine(true);
    const CallId a = e->prepare(inside).value(), b = e->prepare(across).value();
    EXPECT_TRUE(e->times_hold());
    EXPECT_FALSE(e->apart(a, b));
    const SimTime begin = SimTime::at(Duration::us(100)), join = SimTime::at(Duration::us(900));
    if (!late) e->start(a, 1, begin);
    EXPECT_FALSE(e->advance(join).has_value());
    if (late) e->start(a, 1, begin);
    e->start(b, 2, join);
    std::vector<std::pair<std::uint64_t, SimTime>> out;
    while (const auto done = e->advance(SimTime::max())) out.emplace_back(done->tag, done->at);
    return out;
  };
  EXPECT_EQ(ends(true), ends(false));
  EXPECT_EQ(ends(true).size(), 2u);
}

}  // namespace
}  // namespace busbar
