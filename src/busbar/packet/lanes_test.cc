// Lanes: shares by weight, lanes of weight 0 first, and a stopped lane delays no other.
#include "busbar/packet/internal/lanes.h"

#include <gtest/gtest.h>

#include "busbar/base/random.h"
#include "busbar/packet/internal/profile.h"
#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

constexpr double kFullNs = 83.2;  ///< 4,160 bytes at 50 GB/s

TEST(Lanes, SharesFollowTheWeightsWithinAPacketPerRound) {
  const std::vector<std::uint32_t> weights{3, 1, 2};
  LaneTurns turns;
  RandomStream random(1, "sizes");
  std::array<std::uint32_t, 3> head{64, 4160, 1000};
  std::array<double, 3> sent{};
  for (int i = 0; i < 100'000; ++i) {
    const std::uint32_t l = pick_lane(turns, weights, 4160, [&](std::uint32_t x) { return head[x]; });
    ASSERT_LT(l, 3u);
    sent[l] += head[l];
    head[l] = static_cast<std::uint32_t>(65 + random.below(4096));
  }
  EXPECT_NEAR(sent[0] / 3, sent[1], 2 * 4160);
  EXPECT_NEAR(sent[2] / 2, sent[1], 2 * 4160);
}

TEST(Lanes, StrictOnesGoFirstAndEmptyOnesSaveNothingUp) {
  const std::vector<std::uint32_t> weights{1, 0, 1, 0};
  LaneTurns turns;
  std::array<std::uint32_t, 4> head{0, 0, 4160, 0};
  const auto pick = [&] { return pick_lane(turns, weights, 4160, [&](std::uint32_t x) { return head[x]; }); };
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(pick(), 2u);
  head = {4160, 4160, 4160, 4160};
  EXPECT_EQ(pick(), 1u);
  head[1] = 0;
  EXPECT_EQ(pick(), 3u);
  head[3] = 0;
  int first = 0;
  for (int i = 0; i < 10; ++i) first += pick() == 0 ? 1 : 0;
  EXPECT_EQ(first, 5);  // lane 0 has no share left for the thousand
  head = {};
  EXPECT_EQ(pick(), kNoLane);
}

PacketOptions with_lanes(PacketTransport t, std::vector<std::uint32_t> lanes) {
  PacketOptions o{t, PacketBalance::kEcmp, 1};
  o.lanes = std::move(lanes);
  return o;
}

constexpr std::uint64_t kBytes = 2000 * 4096;

/// Two flows of equal size enter one host, or leave one. The heavier lane ends after its share of the wire.
TEST(Lanes, AWireIsSharedByWeightAtSwitchesAndAtHosts) {
  for (const PacketTransport t : {PacketTransport::kIb, PacketTransport::kRoce}) {
    for (const bool at_host : {false, true}) {
      for (const std::uint32_t weight : {1u, 2u, 3u, 7u}) {
        LeafSpine n(1, 4, 0);
        n.add(0, 2, kBytes);
        n.add(at_host ? 0 : 1, at_host ? 3 : 2, kBytes);
        n.list.flows[1].lane = 1;
        const PacketResult r = n.run(with_lanes(t, {weight, 1}));
        const double share = weight / (weight + 1.0);
        EXPECT_NEAR(r.flows[0].received.in_us(), 2000 * kFullNs / share * 1e-3, 0.01 * 2000 * kFullNs / share * 1e-3)
            << static_cast<int>(t) << " host " << at_host << " weight " << weight;
        EXPECT_NEAR(r.received.since_start().in_us(), 4000 * kFullNs * 1e-3, 0.01 * 4000 * kFullNs * 1e-3);
        EXPECT_EQ(r.drops, 0u);
      }
    }
  }
}

TEST(Lanes, AStrictLaneIsServedAsIfItWereAlone) {
  LeafSpine n(1, 4, 0);
  n.add(0, 3, kBytes);
  n.add(1, 3, kBytes);
  n.list.flows[1].lane = 1;
  const PacketResult both = n.run(with_lanes(PacketTransport::kIb, {1, 0}));
  EXPECT_NEAR(both.flows[1].received.in_us(), 2000 * kFullNs * 1e-3, 0.01 * 2000 * kFullNs * 1e-3);
  EXPECT_GT(both.flows[0].received.in_us(), 1.9 * both.flows[1].received.in_us());
}

/// Three flows into host 4. One of them takes the only path between the leaves, which the victim also takes.
PacketResult with_victim(PacketTransport t, std::vector<std::uint32_t> lanes, std::uint32_t threads = 1) {
  LeafSpine n(2, 4, 1);
  n.add(0, 4, 4 * kBytes);
  n.add(5, 4, 4 * kBytes);
  n.add(6, 4, 4 * kBytes);
  n.add(1, 7, kBytes);
  if (lanes.size() > 1) n.list.flows[3].lane = 1;
  PacketOptions o = with_lanes(t, std::move(lanes));
  o.threads = threads;
  return run_adjusted(n.router, n.list, o, [](Profile& p) { p.network.pause_fixed = 50'000; }).value();
}

/// In one lane the victim moves as slowly as the stopped packets before it. In its own lane it gets the rate that the
/// stopped flow leaves: C - C/3.
TEST(Lanes, AStoppedLaneHoldsUpNoOther) {
  for (const PacketTransport t : {PacketTransport::kIb, PacketTransport::kRoce}) {
    const double alone_us = 2000 * kFullNs * 1e-3;
    const double shared_us = with_victim(t, {}).flows[3].received.in_us();
    const PacketResult apart = with_victim(t, {1, 1});
    EXPECT_GT(shared_us, 2 * alone_us) << static_cast<int>(t);
    EXPECT_LT(apart.flows[3].received.in_us(), 1.6 * alone_us) << static_cast<int>(t);
    EXPECT_GT(apart.flows[3].received.in_us(), alone_us);
    EXPECT_EQ(apart.drops, 0u);
    EXPECT_GT(apart.pauses, 0u);
    EXPECT_EQ(with_victim(t, {1, 1}, 2).digest, apart.digest);
  }
}

TEST(Lanes, EveryTransportEndsWithEightOfThem) {
  LeafSpine n(2, 8, 2);
  for (std::uint32_t h = 0; h < 16; ++h) {
    n.add(h, (h + 9) % 16, 200'000);
    n.add(h, 0 == h ? 1 : 0, 100'000);
    n.list.flows[2 * h].lane = n.list.flows[2 * h + 1].lane = static_cast<std::uint8_t>(h % 8);
  }
  for (const PacketTransport t : {PacketTransport::kNscc, PacketTransport::kDcqcn, PacketTransport::kHpcc,
                                  PacketTransport::kRoce, PacketTransport::kSwift, PacketTransport::kIb,
                                  PacketTransport::kTcpCubic, PacketTransport::kDctcp, PacketTransport::kCredit}) {
    PacketOptions o = with_lanes(t, {0, 8, 4, 2, 1, 1, 1, 0});
    const PacketResult r = n.run(o);
    EXPECT_EQ(r.done, n.list.flows.size()) << static_cast<int>(t);
    o.threads = 2;
    EXPECT_EQ(n.run(o).digest, r.digest) << static_cast<int>(t);
  }
}

}  // namespace
}  // namespace busbar::packet
