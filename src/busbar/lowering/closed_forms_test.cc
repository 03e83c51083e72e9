// Lowered calls against the closed forms of docs/models/flow.md, and what their times must not depend on.
#include <gtest/gtest.h>

#include <tuple>

#include "busbar/base/random.h"
#include "busbar/collectives/builders.h"
#include "busbar/collectives/forest.h"
#include "busbar/lowering/test_lowered.h"
#include "busbar/lowering/test_machines.h"
#include "busbar/topology/selector.h"

namespace busbar::lowering {
namespace {

// Closed forms: docs/models/flow.md. Tolerance 0.1 % as promised there.
TEST(LoweredCalls, RingOnOneSwitchMatchesTheClosedForm) {
  const std::pair<std::uint32_t, double> cases[] = {
      {8, 4.190}, {64, 4.824}, {512, 5.785}, {4096, 12.961}, {65536, 135.842}};
  for (const auto& [n, ms] : cases) {
    const TestNetwork m(one_switch(n).seal());
    EXPECT_NEAR(lowered_ms(m, test_call(n, "ring", kGiB)), ms, ms * 1e-3) << n;
  }
}

TEST(LoweredCalls, HierarchicalMatchesTheClosedForm) {
  const std::pair<std::uint32_t, double> cases[] = {{64, 8.943}, {512, 9.978}, {4096, 13.636}, {16384, 25.932}};
  for (const auto& [n, ms] : cases) {
    const TestNetwork m(pods_of_eight(n / 8).seal());
    EXPECT_NEAR(lowered_ms(m, test_call(n, "hierarchical", kGiB)), ms, ms * 1e-3) << n;
  }
}

TEST(LoweredCalls, PipelinedChunksStayBetweenFloorAndPhaseByPhase) {
  const std::tuple<std::uint32_t, double, double> cases[] = {
      {64, 4.698, 8.943}, {512, 5.285, 9.978}, {4096, 5.358, 13.636}};
  for (const auto& [n, floor, steps] : cases) {
    const TestNetwork m(pods_of_eight(n / 8).seal());
    const double ms = lowered_ms(m, test_call(n, "hierarchical", kGiB, 64));
    EXPECT_GT(ms, floor) << n;
    EXPECT_LT(ms, steps) << n;
  }
}

// A chain 0 -> 1 -> 2 that a buffer goes down in k pieces takes (k + 1) / k S / rate: the links fill one after another,
// however many channels share them.
TEST(LoweredCalls, ChannelsThatShareLinksFillThemTogether) {
  const TestNetwork m(one_switch(3).seal());
  const collectives::GivenTree down{{0, 1, 2}, {0, 0, 1}};
  for (const auto& [channels, chunks] : {std::pair(1u, 4u), {2u, 4u}, {5u, 4u}, {5u, 1000u}}) {
    program::CollectiveCall call = test_call(3, "tree", kGiB, chunks);
    call.op = collectives::Collective::kBroadcast;
    const std::vector<collectives::WeightedTree> trees(channels, collectives::WeightedTree{down, 1});
    call.schedule =
        std::make_shared<const collectives::Schedule>(collectives::build_tree_packing(call.op, 3, 0, trees).value());
    EXPECT_NEAR(lowered_ms(m, call), (1 + 1.0 / chunks) * kGiB / 450e9 * 1e3 + 0.002, 1e-4) << channels << chunks;
  }
}

// Root 0 with child 1, that with children 2 and 3; the cable of one GPU at a third. An edge takes the time of its
// slower end, and a GPU sends to two children at once over one cable.
TEST(LoweredCalls, ATreeTakesTheEdgesOfItsSlowestPath) {
  const collectives::GivenTree tree{{0, 1, 2, 3}, {0, 0, 1, 1}};
  const double whole_ms = kGiB / 450e9 * 1e3;
  const std::pair<std::uint32_t, double> cases[] = {{0, 3 + 2}, {1, 3 + 6}, {2, 1 + 3}};
  for (const collectives::Collective op : {collectives::Collective::kBroadcast, collectives::Collective::kReduce})
    for (const auto& [slow, edges] : cases) {
      topology::TopologyBuilder b = one_switch(4);
      b.degrade(topology::LinkId{2 * slow}, 1 / 3.0);
      const TestNetwork m(std::move(b).seal());
      program::CollectiveCall call = test_call(4, "tree", kGiB);
      call.op = op;
      call.schedule = std::make_shared<const collectives::Schedule>(
          collectives::build_tree_packing(op, 4, 0, {collectives::WeightedTree{tree, 1}}).value());
      EXPECT_NEAR(lowered_ms(m, call), edges * whole_ms + 2e-3, 1e-3) << collectives::name_of(op) << slow;
    }
}

TEST(LoweredCalls, OneHalfRateEdgeCostsTheLongestPathNotTheSum) {
  const std::pair<std::uint32_t, double> cases[] = {{512, 9.53}, {4096, 12.96}, {65536, 135.84}};
  for (const auto& [n, ms] : cases) {
    topology::TopologyBuilder b = one_switch(n);
    b.degrade(topology::LinkId{2 * 5}, 0.5);  // gpu5's cable: its two edges of the ring
    const TestNetwork m(std::move(b).seal());
    EXPECT_NEAR(lowered_ms(m, test_call(n, "ring", kGiB)), ms, ms * 1e-3) << n;
  }
}

TEST(LoweredCalls, DoublingEveryRateHalvesTimesWithoutLatency) {
  for (const std::uint64_t rate : {100, 200}) {
    topology::NodeTemplate node;
    for (int g = 0; g < 4; ++g)
      node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
    node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
    for (std::uint32_t g = 0; g < 4; ++g)
      node.links.push_back({g, 4, topology::test_link(topology::LinkKind::kNvlink, rate, Duration())});
    topology::TopologyBuilder b;
    b.add_block(b.add_template(node));
    const TestNetwork m(std::move(b).seal());
    // 2(n-1)/n S / rate
    EXPECT_NEAR(lowered_ms(m, test_call(4, "ring", 800'000'000)), 1.5 * 0.8e9 / (rate * 1e9) * 1e3, 1e-6);
  }
}

// 2(n-1)/n S over the eight NICs of a node, each channel's first send over the wire being one of 2(n-1).
TEST(LoweredCalls, ARingOverNodesUsesEveryNic) {
  for (const std::uint32_t nodes : {2u, 8u}) {
    const TestNetwork m(pods_of_eight(nodes).seal());
    const double n = 8 * nodes, sends = 2 * (n - 1), ms = sends / n * kGiB / (8 * 50e9) * 1e3;
    const double took = lowered_ms(m, test_call(8 * nodes, "ring", kGiB));
    EXPECT_GT(took, ms);
    EXPECT_LT(took, ms + sends * 5e-3);  // at most 5 us a send
  }
}

TEST(LoweredCalls, ChannelsAskedForUseAsManyNics) {
  const TestNetwork m(pods_of_eight(4).seal());
  program::CollectiveCall call = test_call(32, "ring", kGiB);
  double before = 0;
  for (const std::uint32_t channels : {8u, 4u, 2u, 1u}) {
    call.channels = channels;
    EXPECT_EQ(try_lower(m, call)->channels, channels);
    const double ms = lowered_ms(m, call), wire_ms = 2 * 31 / 32.0 * kGiB / (channels * 50e9) * 1e3;
    EXPECT_NEAR(ms, wire_ms, 62 * 5e-3) << channels;
    EXPECT_GT(ms, before);
    before = ms;
  }
}

TEST(LoweredCalls, SmallCallsUseFewerChannels) {
  const TestNetwork m(pods_of_eight(4).seal());
  for (const auto& [bytes, channels] : {std::pair(4, 1u), {3 * 4096, 3u}, {1 << 20, 8u}})
    EXPECT_EQ(try_lower(m, test_call(32, "ring", static_cast<std::uint64_t>(bytes)))->channels, channels) << bytes;
}

TEST(LoweredCalls, ADeadNicCostsARingOneChannelInEight) {
  topology::TopologyBuilder b = pods_of_eight(4);
  for (const topology::LinkId l : topology::select_cables(b.peek(), "node2.nic5-leaf0").value()) b.fail(l);
  const TestNetwork m(std::move(b).seal());
  EXPECT_EQ(try_lower(m, test_call(32, "ring", kGiB))->channels, 7u);
  EXPECT_NEAR(lowered_ms(m, test_call(32, "ring", kGiB)), 2 * 31 / 32.0 * kGiB / (7 * 50e9) * 1e3, 0.4);
}

TEST(LoweredCalls, ATreeOverNodesUsesMoreThanOneNic) {
  const TestNetwork m(pods_of_eight(8).seal());
  program::CollectiveCall call = test_call(64, "tree", kGiB, 64);
  const double all = lowered_ms(m, call);
  call.channels = 2;
  EXPECT_LT(all, 0.25 * lowered_ms(m, call));
}

TEST(LoweredCalls, AGpuWithTwoNicsUsesBothWithEveryAlgorithm) {
  for (const char* algorithm : {"ring", "tree", "hierarchical", "halving_doubling", "direct"}) {
    double ms[2];
    for (const std::uint32_t nics : {1u, 2u}) {
      const TestNetwork m(single_gpu_nodes(4, nics).seal());
      ms[nics - 1] = lowered_ms(m, test_call(4, algorithm, kGiB));
    }
    EXPECT_NEAR(ms[1], ms[0] / 2, ms[0] * 0.01) << algorithm;
  }
}

/// GPUs 0 and 1 are joined by NVLink, 0 and 2 over a PCIe switch.
TEST(LoweredCalls, ASendHasTheOverheadOfTheLinksItTakes) {
  const TestNetwork m(two_pairs());
  program::ProtocolModel p;
  p.step_scale_up = Duration::us(2);
  p.step_server = Duration::us(5);
  p.step_network = Duration::us(11);
  const auto us = [&](std::uint32_t to) { return 1e3 * lowered_ms(m, pair_transfer(0, to, 1'000'000), p); };
  EXPECT_NEAR(us(1), 2 + 20, 1e-3);  // 1 MB at 50 GB/s
  EXPECT_NEAR(us(2), 5 + 50, 1e-3);  // and at 20 GB/s
}

TEST(LoweredCalls, AChannelMovesNoMoreThanItsRate) {
  const TestNetwork m(one_switch(8).seal());
  program::CollectiveCall call = test_call(8, "ring", kGiB);
  for (const std::uint32_t channels : {1u, 4u, 64u}) {
    call.channels = channels;
    program::ProtocolModel p;
    p.channel_rate = BytesPerSecond{20'000'000'000};
    const double rate = std::min(20e9 * channels, 450e9);
    EXPECT_NEAR(lowered_ms(m, call, p), 1.75 * kGiB / rate * 1e3 + 14e-3, 1e-3);
  }
}

// Of each 8 bytes on the wire 4 are flags, so all links carry twice the payload.
TEST(LoweredCalls, FlagsAmongTheDataTakeTheirShareOfTheLinks) {
  const TestNetwork m(one_switch(8).seal());
  program::CollectiveCall call = test_call(8, "ring", kGiB);
  program::ProtocolModel p;
  p.ll = {.available = true, .step_scale_up = {}, .step_server = {}, .step_network = {}, .efficiency = 0.5};
  const double simple = lowered_ms(m, call, p);
  call.protocol = program::Protocol::kLl;
  EXPECT_NEAR(lowered_ms(m, call, p) - 14e-3, 2 * (simple - 14e-3), 1e-6);
}

// Which rank runs where is a name: with paths chosen by hashes too.
TEST(LoweredCalls, RelabellingRanksOfAHashedFabricChangesNothing) {
  RandomStream random(3, "labels");
  for (int i = 0; i < 5; ++i) {
    const TestNetwork m(leaf_spine(8, 4).seal());
    std::vector<topology::DeviceId> gpus(m.topology.gpus().begin(), m.topology.gpus().end());
    program::CollectiveCall call = test_call(32, "ring", kGiB);
    const double before = lowered_ms(m, call);
    call.groups = collectives::GroupFamily{};
    call.groups.listed_groups = 1;
    std::vector<std::uint32_t> label(32);
    for (std::uint32_t r = 0; r < 32; ++r) label[r] = r;
    for (std::uint32_t r = 31; r > 0; --r) std::swap(label[r], label[random.below(r + 1)]);
    std::vector<topology::DeviceId> relabelled(32);
    for (std::uint32_t r = 0; r < 32; ++r) relabelled[label[r]] = gpus[r];
    for (std::uint32_t r = 0; r < 32; ++r) call.groups.listed.push_back(label[r]);  // the same GPUs in the same order
    const routing::Placement placement(m.router, relabelled);
    EXPECT_EQ(closed_form_ps(Lowering(m.router, placement, {}).lower(call).value()) * 1e-9, before);
  }
}

TEST(LoweredCalls, AlgorithmFloorIsNeverAboveTheTime) {
  RandomStream random(1, "floors");
  for (int i = 0; i < 40; ++i) {
    topology::TopologyBuilder b = pods_of_eight(4);
    for (int d = 0; d < 3; ++d)
      b.degrade(static_cast<topology::LinkId>(random.below(b.peek().link_count())), 0.1 + 0.8 * random.uniform());
    const TestNetwork m(std::move(b).seal());
    for (const char* algorithm : {"ring", "tree", "hierarchical"}) {
      const program::CollectiveCall call = test_call(32, algorithm, 1 + random.below(kGiB), 1 + random.below(8));
      const LoweredCall lowered = try_lower(m, call).value();
      EXPECT_GE(closed_form_ps(lowered), lowered.algorithm_floor_ps * (1 - 1e-9)) << algorithm;
    }
  }
}

TEST(LoweredCalls, RelabellingRanksOfASymmetricMachineChangesNothing) {
  const TestNetwork m(one_switch(16).seal());
  program::CollectiveCall c = test_call(16, "ring", kGiB);
  const double before = lowered_ms(m, c);
  c.groups.listed_groups = 1;
  for (std::uint32_t r = 0; r < 16; ++r) c.groups.listed.push_back((r * 5 + 3) % 16);
  EXPECT_EQ(lowered_ms(m, c), before);
}

// Every pair has a route of its own: latency once, then (n - 1)/n S through each port.
TEST(LoweredCalls, DirectAllToAllTakesLatencyAndTheBytesOfAPort) {
  const TestNetwork m(one_switch(8).seal());
  for (const char* algorithm : {"direct", "pairwise"}) {
    program::CollectiveCall c = test_call(8, algorithm, 8 * 450'000'000ull);
    c.op = collectives::Collective::kAllToAll;
    const double latency_us = std::string(algorithm) == "direct" ? 1 : 7;  // one round, or seven after each other
    EXPECT_NEAR(lowered_ms(m, c), 7 + latency_us / 1000, 1e-5) << algorithm;
  }
}

// By a matrix: what each port sends and receives bounds it, and the busiest port decides.
TEST(LoweredCalls, AnAllToAllByMatrixTakesTheBytesOfTheBusiestPort) {
  const TestNetwork m(one_switch(4).seal());
  program::CollectiveCall c = test_call(4, "direct", 900'000'000);  // 100 MB a chunk: rank 0 sends nine
  c.op = collectives::Collective::kAllToAllV;
  const std::uint32_t chunks[4][4] = {{0, 2, 3, 4}, {1, 0, 1, 1}, {1, 1, 0, 1}, {1, 2, 1, 0}};
  c.pairs.begin = {0};
  for (const auto& row : chunks)
    for (const std::uint32_t n : row) c.pairs.begin.push_back(c.pairs.begin.back() + n);
  EXPECT_NEAR(lowered_ms(m, c), 900e6 / 450e9 * 1e3 + 1e-3, 1e-6);
  c.pairs = {};
  c.pairs.hot = 1;  // everyone sends rank 0 five chunks and the others one: it receives 15 of the 8 a rank has
  c.pairs.hot_chunks = 5;
  EXPECT_NEAR(lowered_ms(m, c), 900e6 * 15 / 8 / 450e9 * 1e3 + 1e-3, 1e-6);
}

TEST(LoweredCalls, AReducingSwitchBeatsTheRingAndNeverItsPorts) {
  EXPECT_FALSE(try_lower(TestNetwork(one_switch(8).seal()), test_call(8, "nvls", kGiB)).ok());
  topology::NodeTemplate node;
  for (int g = 0; g < 8; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
  node.devices.back().device_class.reduces = true;
  for (std::uint32_t g = 0; g < 8; ++g)
    node.links.push_back({g, 8, topology::test_link(topology::LinkKind::kNvlink, 450, Duration::ns(500))});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  const TestNetwork m(std::move(b).seal());
  const double port_ms = kGiB / 450e9 * 1e3;
  const double ms = lowered_ms(m, test_call(8, "nvls", kGiB, 64));
  EXPECT_GT(ms, port_ms);
  EXPECT_LT(ms, lowered_ms(m, test_call(8, "ring", kGiB)));
}

TEST(LoweredCalls, LinksToASwitchThatAddsReachTheShareOfTheirRateThatTheProtocolGives) {
  const TestNetwork m(pods_of_eight(1, true).seal());
  program::ProtocolModel half;
  half.share_switch = 0.5;
  const double whole = lowered_ms(m, test_call(8, "nvls", kGiB));
  EXPECT_NEAR(lowered_ms(m, test_call(8, "nvls", kGiB), half), 2 * whole, 1e-3 * whole);
}

TEST(LoweredCalls, NameTheirStepsAfterTheLevelOfTheirGroups) {
  const LoweredCall call = try_lower(TestNetwork(pods_of_eight(4).seal()), test_call(32, "hierarchical", kGiB)).value();
  ASSERT_EQ(call.stages.size(), 3u);
  EXPECT_EQ(call.stages[0].phase, "ring reduce-scatter in group");
  EXPECT_EQ(call.stages[1].phase, "ring reduce-scatter + all-gather across groups");
  EXPECT_EQ(call.stages[2].phase, "ring all-gather in group");
}

// Three ranks exchange pairwise, t over a whole link and 2 t over those of GPU 0, 1 us of latency. Round 1: all of rank
// 0's have ended at 2 t and the latency, and so has what rank 1 receives. Round 2: 0 -> 2 and 1 -> 0 take 2 t from
// then.
TEST(LoweredCalls, ARankBeginsARoundWhenItsSendsAndReceivesHaveEnded) {
  topology::TopologyBuilder b = one_switch(3);
  b.degrade(topology::LinkId{0}, 0.5);
  const TestNetwork m(std::move(b).seal());
  program::CollectiveCall call = test_call(3, "pairwise", 3 * 450'000'000);  // t = 1 ms
  call.op = collectives::Collective::kAllToAll;
  EXPECT_NEAR(lowered_ms(m, call), 4 + 2e-3, 1e-6);
  double bytes_ps = 0, latency_ps = 0;
  std::uint32_t rounds = 0;
  for (const ChainPart& p : Lowering(m.router, m.placement, {}).explain(call).value()) {
    (p.kind == ChainPartKind::kLatency ? latency_ps : bytes_ps) += p.ps;
    if (p.kind == ChainPartKind::kBandwidth) rounds += p.rounds;
  }
  EXPECT_NEAR(bytes_ps, 4e9, 2e6);
  EXPECT_NEAR(latency_ps, 2e6, 2e6);
  EXPECT_EQ(rounds, 2u);
}

// Eight ranks gather to rank 0: 1, 2 and 4 pieces in three rounds, t for a piece over a whole cable. Rank 2 receives
// from the slow GPU 3 until 14 t and then sends for 2 t. Rank 4 receives from the slow GPU 5 until 15 t and then sends
// 4 t, of which 2 t share the cable of rank 0. With GPU 6 10 t away rank 4 waits for that, after (1 + 10 + 2 / (14/15)
// + 10) t, as both share its cable, and its send is alone.
TEST(LoweredCalls, ARankWaitsForWhatArrivesLastOfARoundInWhichItOnlyReceives) {
  for (const auto& [far_us, times] : {std::pair(0, 15 + 4 + 1.0), {10'000, 21 + 2 * 15 / 14.0 + 4}}) {
    topology::NodeTemplate node;
    for (std::uint32_t g = 0; g < 8; ++g)
      node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
    node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
    for (std::uint32_t g = 0; g < 8; ++g)
      node.links.push_back(
          {g, 8, topology::test_link(topology::LinkKind::kNvlink, 450, Duration::us(g == 6 ? far_us : 0))});
    topology::TopologyBuilder b;
    b.add_block(b.add_template(node));
    b.degrade(topology::LinkId{2 * 5}, 1 / 15.0);
    b.degrade(topology::LinkId{2 * 3}, 1 / 14.0);
    const TestNetwork m(std::move(b).seal());
    program::CollectiveCall call = test_call(8, "tree", 8 * 450'000'000ull);  // t = 1 ms
    call.op = collectives::Collective::kGather;
    EXPECT_NEAR(lowered_ms(m, call), times, 1e-3) << far_us;
  }
}

// n - 1 sends to one rank, however large n * n is.
TEST(LoweredCalls, AGatherHasASendPerRank) {
  const TestNetwork m(one_switch(2048).seal());
  program::CollectiveCall call = test_call(2048, "direct", kGiB);
  call.op = collectives::Collective::kGather;
  const auto lowered = try_lower(m, call);
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  EXPECT_EQ(lowered->stages.at(0).fluids.size(), 2047u);
}

TEST(LoweredCalls, AreBoundByBytesWhenThoseAreHalfOfTheTime) {
  for (const auto& [load_ps, kind] : {std::pair(50.0, BoundKind::kBandwidth), {49.0, BoundKind::kLatency}}) {
    LoweredCall call;
    Stage quick, slow;
    quick.slowest_alone_ps = 60, quick.load_ps = 60, quick.latency_ps = 30;
    slow.slowest_alone_ps = 80, slow.load_ps = load_ps, slow.latency_ps = 20, slow.busiest = topology::LinkId{3};
    call.stages = {quick, slow};
    EXPECT_EQ(bound_of(call).link, topology::LinkId{3});
    EXPECT_EQ(bound_of(call).kind, kind);
    EXPECT_EQ(closed_form_ps(call), 60 + 80);
  }
}

TEST(LoweredCalls, AreNotChangedByACallBeforeThatCouldNotBeLowered) {
  topology::NodeTemplate node;  // the first two GPUs reach each other, the third has no such link
  for (int g = 0; g < 3; ++g)
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
  node.links.push_back({0, 1, topology::test_link(topology::LinkKind::kNvlink, 100, Duration())});
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  const TestNetwork m(std::move(b).seal());
  Lowering fresh(m.router, m.placement, {}), used(m.router, m.placement, {});
  EXPECT_FALSE(used.lower(test_call(3, "ring", 1'000'000)).ok());
  EXPECT_FALSE(used.lower(test_call(3, "ring", 1'000'000, 4)).ok());
  const program::CollectiveCall c = test_call(2, "ring", 1'000'000);
  EXPECT_EQ(closed_form_ps(used.lower(c).value()), closed_form_ps(fresh.lower(c).value()));
}

// Down a chain each connection carries the whole buffer, in one piece or in many.
TEST(LoweredCalls, KeepTheBytesOfTheirBusiestConnectionInAnyNumberOfChunks) {
  const TestNetwork m(one_switch(8).seal());
  for (const std::uint32_t chunks : {1u, 4u, 64u}) {
    program::CollectiveCall call = test_call(8, "ring", kGiB, chunks);
    call.op = collectives::Collective::kBroadcast;
    const LoweredCall lowered = try_lower(m, call).value();
    ASSERT_EQ(lowered.stages.size(), 1u);
    ASSERT_EQ(lowered.stages[0].fluids.size(), 1u);
    EXPECT_NEAR(lowered.stages[0].fluids[0].bytes, kGiB, 1e-6 * kGiB) << chunks;
  }
}

// Up a chain of three edges and down again: the second half of a buffer leaves when the first has left, half a
// millisecond later, and never meets it, though both cross each cable in both directions.
TEST(LoweredCalls, TwoChunksThatDoNotMeetWaitForOneTransferOnly) {
  const TestNetwork m(one_switch(4).seal());
  program::CollectiveCall call = test_call(4, "tree", 450'000'000, 2);
  const collectives::WeightedTree chain{{{0, 1, 2, 3}, {0, 0, 1, 2}}, 1};
  call.schedule =
      std::make_shared<const collectives::Schedule>(collectives::build_tree_packing(call.op, 4, 0, {chain}).value());
  EXPECT_NEAR(lowered_ms(m, call), (6 + 1) * 0.5 + 6e-3, 1e-6);
}

// A processor sends one message after another: n - 2 more than the first, and takes in as many.
TEST(LoweredCalls, FurtherMessagesOfARankTakeTheirTurn) {
  constexpr std::uint32_t n = 6;
  const TestNetwork m(single_gpu_nodes(n, 1).seal());
  program::ProtocolModel in_turn;
  in_turn.per_message = Duration::us(3);
  for (const auto& [op, algorithm, messages] : {std::tuple(collectives::Collective::kAllGather, "direct", 2 * (n - 2)),
                                                std::tuple(collectives::Collective::kAllReduce, "direct", 4 * (n - 2)),
                                                std::tuple(collectives::Collective::kGather, "direct", n - 2),
                                                std::tuple(collectives::Collective::kScatter, "direct", n - 2),
                                                std::tuple(collectives::Collective::kAllGather, "ring", 0u)}) {
    program::CollectiveCall call = test_call(n, algorithm, 1'000'000);
    call.op = op;
    EXPECT_NEAR(lowered_ms(m, call, in_turn) - lowered_ms(m, call), messages * 3e-3, 1e-9) << algorithm << messages;
  }
}

// The same among channels: beyond the messages of one channel, which wait for each other.
TEST(LoweredCalls, MessagesOfFurtherChannelsTakeTheirTurn) {
  constexpr std::uint32_t n = 5;
  const TestNetwork m(single_gpu_nodes(n, 1).seal());
  program::ProtocolModel in_turn;
  in_turn.per_message = Duration::us(3);
  const auto more_us = [&](const program::CollectiveCall& call) {
    return (lowered_ms(m, call, in_turn) - lowered_ms(m, call)) * 1e3;
  };
  std::vector<collectives::RankPath> pairs;  // between every two ranks, each a channel
  for (std::uint32_t a = 0; a < n; ++a)
    for (std::uint32_t b = 0; b < n; ++b)
      if (a != b) pairs.push_back({{a, b}, 1});
  program::CollectiveCall call = test_call(n, "synthesized", 1'000'000);
  call.op = collectives::Collective::kAllToAll;
  call.schedule = std::make_shared<const collectives::Schedule>(collectives::build_paths(call.op, n, 0, pairs).value());
  EXPECT_NEAR(more_us(call), 3 * 2 * (n - 2), 1e-6);
  collectives::ScheduleSpec spec;
  spec.algorithm = "ring";
  spec.op = call.op = collectives::Collective::kAllGather;
  spec.ranks = n;
  for (const std::size_t rings : {1, 2}) {
    spec.orders.assign(rings, {0, 1, 2, 3, 4});
    call.schedule = std::make_shared<const collectives::Schedule>(collectives::build_schedule(spec).value());
    EXPECT_NEAR(more_us(call), 3 * 2 * (n - 1) * static_cast<double>(rings - 1), 1e-6) << rings;
  }
}

}  // namespace
}  // namespace busbar::lowering
