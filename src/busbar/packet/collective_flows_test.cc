#include "busbar/packet/collective_flows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/collectives/builders.h"
#include "busbar/lowering/test_machines.h"
#include "busbar/lowering/test_network.h"
#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

program::CollectiveCall call_of(collectives::Collective op, const std::string& algorithm, std::uint32_t ranks,
                                std::uint64_t bytes) {
  program::CollectiveCall call;
  call.op = op;
  call.bytes = Bytes{bytes};
  call.groups = collectives::one_group(ranks);
  call.algorithm = algorithm;
  return call;
}

program::FlowList flows_of(const LeafSpine& n, const program::CollectiveCall& call) {
  program::FlowList list;
  const routing::Placement placement(n.router, n.topology.gpus());
  const Status s = add_collective_flows(call, n.router, placement, {}, list);
  EXPECT_TRUE(s.ok()) << (s.ok() ? "" : s.error().text());
  return list;
}

/// 2 (n - 1) / n S leaves every rank of a ring. Each move except the first depends on one other move.
TEST(CollectiveFlows, ARingSendsItsLawAndEachMoveWaitsForTheOneThatFilledIt) {
  const LeafSpine n(2, 4, 2);
  for (const std::uint64_t bytes : {8'000'000u, 1'000'003u}) {
    const program::FlowList list = flows_of(n, call_of(collectives::Collective::kAllReduce, "ring", 8, bytes));
    ASSERT_EQ(list.flows.size(), 8u * 14);
    std::uint64_t sent = 0, waiting = 0;
    for (std::uint32_t f = 0; f < list.flows.size(); ++f) {
      sent += count(list.flows[f].bytes);
      waiting += list.after.row(f).size();
    }
    EXPECT_EQ(sent, 2 * 7 * bytes);
    EXPECT_EQ(waiting, 8u * 13);
  }
}

/// Each round of a ring sends one piece over the slowest cable. It takes as long as a flow alone.
TEST(CollectiveFlows, ARingTakesItsRoundsOneAfterTheOther) {
  const LeafSpine n(1, 8, 0);
  const routing::Placement placement(n.router, n.topology.gpus());
  const program::CollectiveCall call = call_of(collectives::Collective::kAllReduce, "ring", 8, 8 * 1'048'576);
  const auto ends =
      run_packet_jobs({&call, 1}, n.router, placement, {}, {PacketTransport::kNscc, PacketBalance::kSpray, 1});
  ASSERT_TRUE(ends.ok());
  const std::int64_t round_ps = 20 * (256 * 4160 + 4160) + 2 * 500'000;  // 256 full packets, two hops, last byte
  const double closed_us = 14 * round_ps * 1e-6, got_us = ends->ends[0].in_us();
  EXPECT_GE(got_us, closed_us * (1 - 1e-9));
  EXPECT_LE(got_us, closed_us * 1.02);  // acknowledgements of the previous round share the cable
}

/// 2 (n - 1) n moves of a ring are 8.4 million. The refusal comes before any of them takes memory.
TEST(CollectiveFlows, TooManyMovesAreRefusedAtOnce) {
  const LeafSpine n(2, 1024, 2);
  const routing::Placement placement(n.router, n.topology.gpus());
  program::FlowList list;
  const Status s = add_collective_flows(call_of(collectives::Collective::kAllReduce, "ring", 2048, 1'000'000'000),
                                        n.router, placement, {}, list);
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.error().message.find("more than 4000000 moves"), std::string::npos) << s.error().message;
  EXPECT_TRUE(list.flows.empty());
}

/// A billion chunks, but only two pairs exchange any.
TEST(CollectiveFlows, AnUnevenAllToAllSendsItsPairsOnly) {
  const LeafSpine n(1, 4, 0);
  const routing::Placement placement(n.router, n.topology.gpus());
  program::CollectiveCall call = call_of(collectives::Collective::kAllToAllV, "direct", 4, 1'000'000'000);
  call.pairs.begin.assign(4 * 4 + 1, 1'000'000'000);
  call.pairs.begin[0] = call.pairs.begin[1] = 0;  // 0 to 1: all but seven
  for (int pair = 2; pair < 7; ++pair) call.pairs.begin[static_cast<std::size_t>(pair)] = 999'999'993;
  for (const char* algorithm : {"direct", "pairwise"}) {  // 1 to 2: seven
    call.algorithm = algorithm;
    call.bytes = Bytes{999'999'993};
    program::FlowList list;
    ASSERT_TRUE(add_collective_flows(call, n.router, placement, {}, list).ok());
    ASSERT_EQ(list.flows.size(), 2u);
    std::uint64_t most = 0, least = UINT64_MAX;
    for (const program::ListedFlow& f : list.flows) {
      most = std::max(most, count(f.bytes));
      least = std::min(least, count(f.bytes));
    }
    EXPECT_EQ(most, 999'999'993u) << algorithm;
    EXPECT_EQ(least, 7u) << algorithm;
  }
}

/// A ring of sends has one flow per rank, from each to the next.
TEST(CollectiveFlows, SendRecvGoesOnceAround) {
  const LeafSpine n(1, 4, 0);
  const routing::Placement placement(n.router, n.topology.gpus());
  program::FlowList list;
  ASSERT_TRUE(add_collective_flows(call_of(collectives::Collective::kSendRecv, "direct", 4, 1000), n.router, placement,
                                   {}, list)
                  .ok());
  ASSERT_EQ(list.flows.size(), 4u);
  for (std::uint32_t f = 0; f < 4; ++f) {
    EXPECT_EQ(list.flows[f].from, placement.gpu(f));
    EXPECT_EQ(list.flows[f].to, placement.gpu((f + 1) % 4));
    EXPECT_EQ(list.flows[f].bytes, Bytes{1000});
  }
}

/// No flow waits for itself: a flow has a higher number than all its predecessors.
TEST(CollectiveFlows, EveryAlgorithmUnrollsForwards) {
  const LeafSpine n(2, 4, 2);
  const std::pair<collectives::Collective, const char*> all[] = {
      {collectives::Collective::kAllReduce, "tree"},     {collectives::Collective::kAllReduce, "halving_doubling"},
      {collectives::Collective::kAllGather, "bruck"},    {collectives::Collective::kAllToAll, "pairwise"},
      {collectives::Collective::kAllToAll, "direct"},    {collectives::Collective::kBroadcast, "ring"},
      {collectives::Collective::kReduceScatter, "ring"}, {collectives::Collective::kAllReduce, "hierarchical"},
  };
  for (const auto& [op, algorithm] : all) {
    program::CollectiveCall call = call_of(op, algorithm, 7, 70'000);
    if (std::string(algorithm) == "hierarchical") call.groups = collectives::one_group(8);
    program::FlowList list;
    const routing::Placement placement(n.router, n.topology.gpus());
    if (!add_collective_flows(call, n.router, placement, {}, list).ok()) continue;  // not for these ranks
    for (std::uint32_t f = 0; f < list.flows.size(); ++f)
      for (const std::uint32_t before : list.after.row(f)) EXPECT_LT(before, f) << algorithm;
    EXPECT_FALSE(list.flows.empty()) << algorithm;
    const PacketResult r = run_packet_list(n.router, list, {}).value();
    EXPECT_EQ(r.done, list.flows.size()) << algorithm;
  }
}

/// Eight GPUs on one switch, 450 GB/s each way, with memory of 100 GB/s.
TEST(CollectiveFlows, MemoryThatHoldsLinksUpIsRefused) {
  topology::NodeTemplate node;
  for (std::uint32_t g = 0; g < 8; ++g) {
    node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
    node.devices.back().device_class.memory_rate = BytesPerSecond{100'000'000'000};
    node.links.push_back({g, 8, topology::test_link(topology::LinkKind::kNvlink, 450, Duration())});
  }
  node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
  topology::TopologyBuilder b;
  b.add_block(b.add_template(node));
  const lowering::TestNetwork g(std::move(b).seal());
  const Status status =
      packets_can_run(call_of(collectives::Collective::kAllGather, "ring", 8, 1u << 30), g.router, g.placement);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, testing::HasSubstr("the memory of node0.gpu0"));
}

Duration time_of(const LeafSpine& n, const program::CollectiveCall& call, const program::ProtocolModel& protocol,
                 std::vector<lowering::ChainPart>* chain = nullptr) {
  const routing::Placement placement(n.router, n.topology.gpus());
  const PacketOptions options{PacketTransport::kRoce, PacketBalance::kSpray, 1};
  return run_packet_jobs({&call, 1}, n.router, placement, protocol, options, chain).value().ends[0];
}

/// Every round pays the overhead of its sends, as it does for fluids and messages.
TEST(CollectiveFlows, ARingPaysOneOverheadPerRound) {
  const LeafSpine n(1, 8, 0);
  const program::CollectiveCall call = call_of(collectives::Collective::kAllReduce, "ring", 8, 1u << 20);
  program::ProtocolModel slow;
  slow.launch = Duration::us(3);
  slow.step_network = Duration::us(5);
  slow.step_scale_up = slow.step_server = Duration::us(100);  // no send stays in a server
  const double more_us = time_of(n, call, slow).in_us() - time_of(n, call, {}).in_us();
  EXPECT_NEAR(more_us, 3 + 14 * 5, 0.5);  // acknowledgements no longer meet the next round's data
}

/// At half the share of the wire, and with a protocol that sends two bytes for one, bytes take twice and four times as
/// long.
TEST(CollectiveFlows, SharesOfTheWireAndFlagsTakeTime) {
  const LeafSpine n(1, 4, 0, cable(50'000'000'000, Duration()));
  program::CollectiveCall call = call_of(collectives::Collective::kAllGather, "ring", 4, 64u << 20);
  const double plain = time_of(n, call, {}).in_us();
  program::ProtocolModel half;
  half.share_network = 0.5;
  EXPECT_NEAR(time_of(n, call, half).in_us() / plain, 2, 0.01);
  half.ll = {true, {}, {}, {}, 0.5};
  call.protocol = program::Protocol::kLl;
  EXPECT_NEAR(time_of(n, call, half).in_us() / plain, 4, 0.02);
}

/// A chain of three sends: in one piece they follow each other, in many they overlap.
TEST(CollectiveFlows, PiecesPipelineThroughAChain) {
  const LeafSpine n(1, 4, 0);
  program::CollectiveCall call = call_of(collectives::Collective::kBroadcast, "ring", 4, 16u << 20);
  call.channels = 1;
  const double whole = time_of(n, call, {}).in_us();
  call.chunks = 32;
  EXPECT_NEAR(time_of(n, call, {}).in_us() / whole, (32 + 2) / (3 * 32.0), 0.03);
  program::ProtocolModel pieces;
  pieces.chunk = Bytes{512 * 1024};
  call.chunks = 0;
  EXPECT_NEAR(time_of(n, call, pieces).in_us() / whole, (32 + 2) / (3 * 32.0), 0.03);
}

/// On an idle way: launch, 14 overheads, the links, payload, headers of 64 bytes on 4,096, one packet at the second
/// hop.
TEST(CollectiveFlows, TheChainNamesWhatPacketsAdd) {
  const LeafSpine n(1, 8, 0);
  program::ProtocolModel protocol;
  protocol.launch = Duration::us(3);
  protocol.step_network = Duration::us(5);
  std::vector<lowering::ChainPart> chain;
  const program::CollectiveCall call = call_of(collectives::Collective::kAllReduce, "ring", 8, 8u << 20);
  const Duration time = time_of(n, call, protocol, &chain);
  EXPECT_NEAR(lowering::sum_ps(chain), static_cast<double>(time.in_ps()), 10);
  const auto us = [&](const std::string& phase) {
    for (const lowering::ChainPart& p : chain)
      if (p.phase == phase) return p.ps * 1e-6;
    return 0.0;
  };
  EXPECT_NEAR(us("launch"), 3, 1e-6);
  EXPECT_NEAR(us("overheads of sends"), 14 * 5, 1e-6);
  EXPECT_NEAR(us("latency of links"), 14 * 1, 1e-6);
  EXPECT_NEAR(us("payload"), 14 * 1048576 / 50e3, 1e-6);
  EXPECT_NEAR(us("headers of packets"), 14 * 256 * 64 / 50e3, 1e-6);
  EXPECT_NEAR(us("one packet per hop"), 14 * 4160 / 50e3, 1e-3);
  EXPECT_LT(us("queues, windows and other flows"), 0.02 * time.in_us());
}

}  // namespace
}  // namespace busbar::packet
