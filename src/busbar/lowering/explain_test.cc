// The chain behind the closed form of a call: its parts follow each other and sum to the time.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <set>

#include "busbar/base/random.h"
#include "busbar/collectives/builders.h"
#include "busbar/lowering/random_machine.h"
#include "busbar/lowering/test_lowered.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::lowering {
namespace {

/// Time of all parts of one kind in us.
double us_of(const std::vector<ChainPart>& parts, ChainPartKind kind) {
  double ps = 0;
  for (const ChainPart& p : parts)
    if (p.kind == kind) ps += p.ps;
  return ps * 1e-6;
}

struct ChainCase {
  collectives::Collective op;
  const char* algorithm;
  double sends, pieces;  ///< one after the other: latencies, and bytes as parts of the buffer
};

// Each send between GPUs of one switch crosses two links: 1 us, and 450 GB/s.
TEST(Explanations, CountTheSendsThatFollowEachOther) {
  const TestNetwork m(std::move(one_switch(8)).seal());
  const double buffer_us = kGiB / 450e9 * 1e6;
  const ChainCase cases[] = {{collectives::Collective::kAllReduce, "ring", 14, 14.0 / 8},
                             {collectives::Collective::kAllGather, "ring", 7, 7.0 / 8},
                             {collectives::Collective::kBroadcast, "ring", 7, 7},
                             {collectives::Collective::kReduce, "ring", 7, 7},
                             {collectives::Collective::kAllReduce, "halving_doubling", 6, 14.0 / 8},
                             {collectives::Collective::kAllToAll, "pairwise", 7, 7.0 / 8}};
  for (const ChainCase& c : cases) {
    SCOPED_TRACE(c.algorithm);
    program::CollectiveCall call = test_call(8, c.algorithm, kGiB);
    call.op = c.op;
    const auto parts = Lowering(m.router, m.placement, {}).explain(call).value();
    EXPECT_NEAR(us_of(parts, ChainPartKind::kLatency), c.sends, 1e-3);
    EXPECT_NEAR(us_of(parts, ChainPartKind::kBandwidth), c.pieces * buffer_us, 1e-2);
    for (const ChainPart& p : parts) {
      EXPECT_GT(p.rounds, 0u) << "a chain of sends, not the load of a link";
      EXPECT_LT(std::max(p.from, p.to), 8u);
      EXPECT_EQ(p.first_round, 1u);
    }
  }
}

// Among them calls whose chunks are pipelined, and one that the load of a link bounds.
TEST(Explanations, ComeFromChainsThatWereKept) {
  const TestNetwork m(std::move(one_switch(8)).seal());
  program::ProtocolModel pipelined;
  pipelined.chunk = Bytes{1 << 20};
  for (const program::ProtocolModel& protocol : {program::ProtocolModel(), pipelined})
    for (const char* algorithm : {"ring", "tree", "halving_doubling", "rabenseifner"})
      for (const std::uint64_t bytes : {std::uint64_t{8}, kGiB}) {
        SCOPED_TRACE(fmt::format("{} {}", algorithm, bytes));
        const program::CollectiveCall call = test_call(8, algorithm, bytes);
        Lowering keeps(m.router, m.placement, protocol);
        EXPECT_FALSE(keeps.explain(keeps.lower(call).value()));
        keeps.keep_chains(true);
        const auto kept = keeps.explain(keeps.lower(call).value());
        const auto asked = Lowering(m.router, m.placement, protocol).explain(call).value();
        ASSERT_TRUE(kept);
        ASSERT_EQ(kept->size(), asked.size());
        for (std::size_t i = 0; i < asked.size(); ++i) {
          EXPECT_EQ((*kept)[i].ps, asked[i].ps);
          EXPECT_EQ((*kept)[i].link, asked[i].link);
          EXPECT_EQ((*kept)[i].phase, asked[i].phase);
        }
      }
}

// So many sends that their routes are otherwise forgotten: 10 rounds each way.
TEST(Explanations, NameTheLinksOfManySends) {
  const TestNetwork m(std::move(one_switch(1024)).seal());
  const auto parts = Lowering(m.router, m.placement, {}).explain(test_call(1024, "halving_doubling", kGiB)).value();
  EXPECT_NEAR(us_of(parts, ChainPartKind::kLatency), 20, 1e-3);
  EXPECT_NEAR(us_of(parts, ChainPartKind::kBandwidth), 2 * 1023 / 1024.0 * kGiB / 450e9 * 1e6, 1e-2);
  for (const ChainPart& p : parts) {
    EXPECT_EQ(p.rounds, 20u);
    EXPECT_LT(index(p.link), m.topology.link_count());
  }
}

// Of the edges of a ring over two nodes those over NICs are the farthest, and there its bytes take longest.
TEST(Explanations, NameTheFarthestEdgeAndTheNarrowestLink) {
  const TestNetwork m(std::move(pods_of_eight(2)).seal());
  program::CollectiveCall call = test_call(16, "ring", kGiB);
  call.channels = 1;
  const auto parts = Lowering(m.router, m.placement, {}).explain(call).value();
  ASSERT_GE(parts.size(), 2u);
  for (const ChainPart& p : {parts.front(), parts.back()})
    EXPECT_EQ(m.topology.link_class(p.link).kind, topology::LinkKind::kInfiniband) << name_of(p.kind);
}

/// Of the chain or tree of eight ranks with rank 3 as root.
std::vector<ChainPart> rooted_parts(const TestNetwork& m, const char* algorithm, collectives::Collective op) {
  program::CollectiveCall call = test_call(8, algorithm, kGiB);
  call.op = op;
  call.root = 3;
  return Lowering(m.router, m.placement, {}).explain(call).value();
}

TEST(Explanations, OfChainsBeginOrEndAtTheRootAndNameTheSlowCable) {
  topology::TopologyBuilder b = one_switch(8);
  b.degrade(topology::LinkId{2 * 5}, 0.5);  // GPU 5's cable: what it receives and what it sends
  const TestNetwork m(std::move(b).seal());
  const std::uint16_t slow = m.topology.link_class_index(topology::LinkId{2 * 5});
  for (const collectives::Collective op : {collectives::Collective::kBroadcast, collectives::Collective::kReduce}) {
    std::uint32_t rounds = 0, slow_rounds = 0, at_root = 0;
    for (const ChainPart& p : rooted_parts(m, "ring", op)) {
      at_root += op == collectives::Collective::kBroadcast ? p.from == 3 && p.first_round == 1 : p.to == 3;
      if (p.kind != ChainPartKind::kBandwidth) continue;
      rounds += p.rounds;
      EXPECT_NEAR(p.ps, p.rounds * kGiB / (m.topology.link_class_index(p.link) == slow ? 0.225 : 0.45), 10);
      if (m.topology.link_class_index(p.link) != slow) continue;
      slow_rounds += p.rounds;
      EXPECT_EQ(p.from, 4u);
      EXPECT_EQ(p.to, 6u);
    }
    EXPECT_EQ(rounds, 7u);
    EXPECT_EQ(slow_rounds, 2u);
    EXPECT_EQ(at_root, 2u) << "of latency and of bytes";
  }
}

TEST(Explanations, OfTreesFollowThePathThatArrivesLast) {
  const TestNetwork m(std::move(one_switch(8)).seal());
  for (const collectives::Collective op : {collectives::Collective::kBroadcast, collectives::Collective::kReduce}) {
    const std::vector<ChainPart> parts = rooted_parts(m, "tree", op);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(op == collectives::Collective::kBroadcast ? parts[0].from : parts[0].to, 3u);
    EXPECT_NE(parts[0].from, parts[0].to);
    EXPECT_EQ(parts[0].first_round, 1u);
    EXPECT_EQ(parts[0].rounds, parts[1].rounds);
    EXPECT_NEAR(parts[0].ps, parts[0].rounds * 1e6, 1) << "1 us per hop";
    EXPECT_GE(parts[0].rounds, 3u) << "no tree of eight ranks has a shorter longest path";
  }
}

// Root 0 with children 1 and 2, and child 3 of 1. Of a few bytes only latencies count: 1 us for an edge, 3.5 us to or
// from the GPU that is far.
TEST(Explanations, OfTreesFollowThePathOfTheLongestLatency) {
  for (const auto& [far, end, us] : {std::tuple(1u, 3u, 7.0), {2u, 2u, 3.5}, {3u, 3u, 4.5}})
    for (const collectives::Collective op : {collectives::Collective::kBroadcast, collectives::Collective::kReduce}) {
      topology::NodeTemplate node;
      for (std::uint32_t g = 0; g < 4; ++g)
        node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
      node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
      for (std::uint32_t g = 0; g < 4; ++g)
        node.links.push_back(
            {g, 4, topology::test_link(topology::LinkKind::kNvlink, 450, Duration::ns(g == far ? 3000 : 500))});
      topology::TopologyBuilder b;
      b.add_block(b.add_template(node));
      const TestNetwork m(std::move(b).seal());
      program::CollectiveCall call = test_call(4, "tree", 8);
      call.op = op;
      const collectives::WeightedTree tree{{{0, 1, 2, 3}, {0, 0, 0, 1}}, 1};
      call.schedule =
          std::make_shared<const collectives::Schedule>(collectives::build_tree_packing(op, 4, 0, {tree}).value());
      const std::vector<ChainPart> parts = Lowering(m.router, m.placement, {}).explain(call).value();
      SCOPED_TRACE(std::string(collectives::name_of(op)) + " " + std::to_string(far));
      EXPECT_NEAR(us_of(parts, ChainPartKind::kLatency), us, 1e-6);
      std::set<std::uint32_t> ends;
      for (const ChainPart& p : parts) ends.insert({p.from, p.to});
      EXPECT_EQ(ends.count(0), 1u);
      EXPECT_EQ(ends.count(end), 1u);
    }
}

TEST(ChainParts, ThatSumToLessAreFollowedBySharing) {
  ChainPart latency, bytes;
  latency.ps = 1e6;
  bytes.ps = 5e6;
  std::vector<ChainPart> parts{latency, bytes};
  close_sum(parts, 10e6, topology::LinkId{7}, "ring");
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].kind, ChainPartKind::kSharing);
  EXPECT_EQ(parts[2].link, topology::LinkId{7});
  EXPECT_EQ(parts[2].phase, "ring");
  EXPECT_EQ(parts[2].ps, 4e6);
  EXPECT_EQ(parts[1].ps, 5e6);
}

TEST(ChainParts, GiveRoundOffToTheLongest) {
  ChainPart latency, bytes;
  latency.ps = 1e6;
  bytes.ps = 5e6;
  for (const double off : {-1.0, 1.5}) {
    std::vector<ChainPart> parts{latency, bytes, latency};
    close_sum(parts, 7e6 + off, topology::LinkId{7}, "ring");
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_EQ(parts[1].ps, 5e6 + off);
    EXPECT_EQ(sum_ps(parts), 7e6 + off);
  }
  std::vector<ChainPart> none;
  close_sum(none, 1, topology::LinkId{7}, "ring");
  EXPECT_TRUE(none.empty());
}

// All pairs at once: no chain of sends, but the latency of one and the load of a link.
TEST(Explanations, OfWhatALinkCarriesAreLatencyThenBytes) {
  const TestNetwork m(std::move(one_switch(8)).seal());
  program::CollectiveCall call = test_call(8, "direct", kGiB);
  call.op = collectives::Collective::kAllToAll;
  const auto parts = Lowering(m.router, m.placement, {}).explain(call).value();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].kind, ChainPartKind::kLatency);
  EXPECT_NEAR(parts[0].ps, 1e6, 1);
  EXPECT_EQ(parts[1].kind, ChainPartKind::kBandwidth);
  EXPECT_NEAR(parts[1].ps, 7.0 / 8 * kGiB / 0.45, 10);
  EXPECT_EQ(parts[1].rounds, 0u);
  for (const ChainPart& p : parts) EXPECT_EQ(p.phase, "direct all-to-all");
}

// Eight channels over two nodes share the links of each GPU: 2 (n - 1) rounds.
TEST(Explanations, OfRingsThatShareTheirLinksCountTheRoundsOfOne) {
  const TestNetwork m(std::move(pods_of_eight(2)).seal());
  const program::CollectiveCall call = test_call(16, "ring", kGiB);
  Lowering lowering(m.router, m.placement, {});
  const double ps = closed_form_ps(lowering.lower(call).value());
  const auto parts = lowering.explain(call).value();
  EXPECT_NEAR(sum_ps(parts), ps, 1e-6 * ps);
  std::uint32_t rounds = 0;
  for (const ChainPart& part : parts) rounds = std::max(rounds, part.rounds);
  EXPECT_EQ(rounds, 30u) << "a chain of sends, not the load of a link";
}

// The chain passes the slow GPU again and again: what waits there has been sent before it can go on.
TEST(Explanations, OfRingsWithASlowGpuStillFollowTheChain) {
  for (std::uint32_t slow = 0; slow < 8; ++slow) {
    topology::TopologyBuilder b = pods_of_eight(2);
    b.degrade(topology::LinkId{4 * slow}, 0.3);  // a GPU's cable to the switch of the first node, both ways
    const TestNetwork m(std::move(b).seal());
    ASSERT_EQ(m.topology.kind(m.topology.to(topology::LinkId{4 * slow})), topology::DeviceKind::kNvSwitch);
    for (const std::uint64_t bytes : {std::uint64_t{1} << 16, kGiB}) {
      const program::CollectiveCall call = test_call(16, "ring", bytes);
      Lowering lowering(m.router, m.placement, {});
      const double ps = closed_form_ps(lowering.lower(call).value());
      const auto parts = lowering.explain(call).value();
      EXPECT_NEAR(sum_ps(parts), ps, 5) << slow;
      std::uint32_t rounds = 0;
      for (const ChainPart& part : parts)
        if (part.kind == ChainPartKind::kBandwidth) rounds += part.rounds;
      EXPECT_EQ(rounds, 30u) << "a chain of sends, not the load of a link";
    }
  }
}

// Pieces of 0.1 us behind latencies of 1 us: the last one goes around once, over 14 edges of which four lead to or from
// the slow GPU.
TEST(Explanations, OfSmallPiecesCountEachEdgeOnTheWayWithItsOwnRate) {
  const program::CollectiveCall call = test_call(8, "ring", 8 * 45'000);
  const auto parts = [&](const TestNetwork& m) { return Lowering(m.router, m.placement, {}).explain(call).value(); };
  const TestNetwork even(std::move(one_switch(8)).seal());
  ASSERT_EQ(parts(even).size(), 2u);
  EXPECT_NEAR(parts(even)[1].ps * 1e-6, 14 * 0.1, 1e-3);
  for (const double rate : {0.5, 0.95}) {
    topology::TopologyBuilder b = one_switch(8);
    b.degrade(topology::LinkId{2 * 5}, rate);
    const TestNetwork m(std::move(b).seal());
    const std::vector<ChainPart> apart = parts(m);
    ASSERT_EQ(apart.size(), 3u) << rate;
    EXPECT_NEAR(apart[0].ps, 14e6, 0.1);
    EXPECT_NEAR(apart[1].ps * 1e-6, 10 * 0.1 + 3 * 0.1 / rate, 1e-3);
    EXPECT_EQ(apart[1].rounds, 13u);
    EXPECT_NEAR(apart[2].ps * 1e-6, 0.1 / rate, 1e-3);
    EXPECT_EQ(apart[2].rounds, 1u);
    EXPECT_TRUE((apart[2].from == 4 && apart[2].to == 5) || (apart[2].from == 5 && apart[2].to == 6));
    EXPECT_EQ(m.topology.link_class_index(apart[2].link), m.topology.link_class_index(topology::LinkId{2 * 5}));
  }
}

/// An all-reduce over two rings of eight, in the order of the GPUs and the other way around.
program::CollectiveCall both_ways_around(std::uint64_t bytes) {
  program::CollectiveCall call = test_call(8, "ring", bytes);
  collectives::ScheduleSpec spec;
  spec.algorithm = call.algorithm;
  spec.op = call.op;
  spec.ranks = 8;
  spec.orders = {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 7, 6, 5, 4, 3, 2, 1}};
  call.schedule = std::make_shared<const collectives::Schedule>(collectives::build_schedule(spec).value());
  return call;
}

// Edges have 2 us of latency, the two of a GPU that is near have 1.1. Pieces take 0.04 us: the last one goes along 14
// edges, all eight and six of them again. The last to arrive goes along the two quick ones once.
TEST(Explanations, OfRingsFollowThePieceThatArrivesLast) {
  for (std::uint32_t near = 0; near < 8; ++near) {
    topology::NodeTemplate node;
    for (std::uint32_t g = 0; g < 8; ++g)
      node.devices.push_back(topology::test_device(topology::DeviceKind::kGpu, "gpu" + std::to_string(g)));
    node.devices.push_back(topology::test_device(topology::DeviceKind::kNvSwitch, "nvswitch0"));
    for (std::uint32_t g = 0; g < 8; ++g)
      node.links.push_back(
          {g, 8, topology::test_link(topology::LinkKind::kNvlink, 450, Duration::ns(g == near ? 100 : 1000))});
    topology::TopologyBuilder b;
    b.add_block(b.add_template(node));
    const TestNetwork m(std::move(b).seal());
    const auto parts = Lowering(m.router, m.placement, {}).explain(both_ways_around(2 * 8 * 18'000)).value();
    EXPECT_NEAR(us_of(parts, ChainPartKind::kLatency), 12 * 2 + 2 * 1.1, 1e-3) << near;
    EXPECT_GT(parts.back().rounds, 0u) << "a chain of sends";
  }
}

// The search for a split of the bytes over spines lowers the call again and again; what it found is explained.
TEST(Explanations, OfAdaptiveRoutingFollowTheSendsToo) {
  topology::TopologyBuilder b = leaf_spine(4, 4);
  b.degrade(static_cast<topology::LinkId>(b.peek().link_count() - 2), 0.5);  // a cable of the last spine: cables differ
  const topology::Topology t = std::move(b).seal();
  const routing::Router router(t, topology::RoutingPolicy::kAdaptive);
  const routing::Placement placement(router, t.gpus());
  program::CollectiveCall call = test_call(16, "ring", kGiB);
  call.op = collectives::Collective::kBroadcast;
  Lowering lowering(router, placement, {});
  ASSERT_TRUE(lowering.splits());
  const auto parts = lowering.explain(call).value();
  std::uint32_t rounds = 0;
  for (const ChainPart& p : parts)
    if (p.kind == ChainPartKind::kBandwidth) rounds += p.rounds;
  EXPECT_EQ(rounds, 15u) << "a chain of sends, not the load of a link";
  EXPECT_NEAR(sum_ps(parts), closed_form_ps(lowering.lower(call).value()), 5);
}

TEST(Explanations, SumToTheClosedFormOnAnyMachine) {
  RandomStream random(9, "explanations");
  const char* const algorithms[] = {"ring", "tree", "hierarchical", "halving_doubling", "pat", "bruck", "direct"};
  const collectives::Collective ops[] = {collectives::Collective::kAllReduce, collectives::Collective::kAllGather,
                                         collectives::Collective::kBroadcast, collectives::Collective::kAllToAll};
  std::uint32_t explained = 0, followed = 0;
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    const TestNetwork m(random_machine(random));
    program::CollectiveCall call = test_call(m.gpus(), algorithms[random.below(7)], 1 + random.below(kGiB),
                                             1 + 3 * static_cast<std::uint32_t>(random.below(2)));
    call.op = ops[random.below(4)];
    Lowering lowering(m.router, m.placement, some_protocol());
    const auto lowered = lowering.lower(call);
    const auto parts = lowering.explain(call);
    ASSERT_EQ(parts.ok(), lowered.ok());
    if (!parts.ok() || lowered->stages.empty()) continue;
    ++explained;
    const double ps = closed_form_ps(*lowered);
    EXPECT_NEAR(sum_ps(*parts), ps, 1e-6 * ps);
    for (const ChainPart& p : *parts) EXPECT_GE(p.ps, 0);
    EXPECT_EQ(parts->front().kind, ChainPartKind::kLaunch);
    followed += (*parts)[1].rounds > 0;
  }
  EXPECT_GT(explained, 100u);
  EXPECT_GT(followed, explained / 4);
}

// A channel moves 20 GB/s, so nine pieces to one GPU take longer than twice eight to another, who fill more of its
// cable.
TEST(Explanations, OfASlowSendNameALinkOnItsWay) {
  const TestNetwork m(std::move(one_switch(5)).seal());
  program::CollectiveCall call = test_call(5, "direct", 45'000'000);
  call.op = collectives::Collective::kAllToAllV;
  call.channels = 1;
  const std::uint32_t pieces[5][5] = {{0, 9, 0, 0, 0}, {}, {0, 0, 0, 0, 8}, {0, 0, 0, 0, 8}, {}};
  call.pairs.begin = {0};
  for (const auto& row : pieces)
    for (const std::uint32_t n : row) call.pairs.begin.push_back(call.pairs.begin.back() + n);
  program::ProtocolModel p;
  p.channel_rate = BytesPerSecond{20'000'000'000};
  const std::vector<ChainPart> parts = Lowering(m.router, m.placement, p).explain(call).value();
  const topology::LinkId link = parts.back().link;
  EXPECT_TRUE(m.topology.from(link) == m.placement.gpu(0) || m.topology.to(link) == m.placement.gpu(1))
      << m.topology.name(link);
}

}  // namespace
}  // namespace busbar::lowering
