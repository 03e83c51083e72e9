// Several queue pairs per connection.
#include "busbar/packet/internal/queue_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

PacketOptions with_pairs(const std::string& n) {
  PacketOptions o{PacketTransport::kDcqcn, PacketBalance::kEcmp, 1};
  o.settings = {read_packet_setting("queue_pairs", n).value()};
  return o;
}

TEST(QueuePairs, CutTransfersIntoEqualPartsOfWholeAlignments) {
  LeafSpine n(2, 4, 2);
  n.add(0, 5, 1'000'000);
  n.add(1, 5, 200);
  n.add(2, 5, 0);
  n.add(5, 0, 1'000, {}, {0, 1});
  const CutList cut = cut_for_queue_pairs(n.list, n.topology, 4);
  EXPECT_EQ(cut.first, (std::vector<std::uint32_t>{0, 4, 6, 7, 11}));
  std::uint64_t sum = 0;
  for (std::uint32_t f = 0; f < 4; ++f) sum += count(cut.list.flows[f].bytes);
  EXPECT_EQ(sum, 1'000'000u);
  EXPECT_EQ(count(cut.list.flows[0].bytes), 250'112u);  // 250,000 rounded up to 128
  EXPECT_EQ(count(cut.list.flows[5].bytes), 72u);
  for (std::uint32_t part = 7; part < 11; ++part) EXPECT_EQ(cut.list.after.row(part).size(), 6u);
}

TEST(QueuePairs, AreOneFlowInTheResult) {
  LeafSpine n(8, 16, 16);
  n.add(0, 127, 2'000'000);
  n.add(127, 3, 100'000, {}, {0});
  const PacketResult one = n.run(with_pairs("1")), four = n.run(with_pairs("4"));
  ASSERT_EQ(four.flows.size(), 2u);
  EXPECT_EQ(four.done, 2u);
  for (int f = 0; f < 2; ++f) {
    EXPECT_EQ(four.flows[f].alone, one.flows[f].alone);
    EXPECT_GE(four.flows[f].received.in_us(), 0.5 * four.flows[f].alone.in_us());
    EXPECT_LE(four.flows[f].fct.in_us(), 1.01 * one.flows[f].alone.in_us());
  }
  EXPECT_GE(four.flows[1].start, four.flows[0].start + four.flows[0].received);
}

/// Each part of a flow may meet another uplink, so collisions of whole flows become rarer.
TEST(QueuePairs, EvenOutHashedPaths) {
  LeafSpine n(8, 16, 16);
  for (std::uint32_t h = 0; h < 128; ++h) n.add(h, (h + 16) % 128, 1'000'000);
  const auto longest = [&](const std::string& pairs) {
    Duration most;
    for (const PacketOutcome& f : n.run(with_pairs(pairs)).flows) most = std::max(most, f.fct);
    return most.in_us();
  };
  const double with_one = longest("1"), with_16 = longest("16");
  EXPECT_LT(with_16, 0.8 * with_one);
}

/// Samples are of whole flows: what they have acknowledged only grows, to their sizes, though parts end before others.
TEST(QueuePairs, AreOneFlowInSamples) {
  LeafSpine n(8, 16, 16);
  for (std::uint32_t h = 0; h < 32; ++h) n.add(h, 127 - h % 8, 1'000'000);
  PacketOptions o = with_pairs("4");
  std::vector<std::uint64_t> acked(32, 0);
  double most_window = 0;
  o.series = {Duration::us(1), [&](SimTime, auto, std::span<const PacketFlowSample> flows) {
                for (const PacketFlowSample& f : flows) {
                  ASSERT_LT(f.flow, 32u);
                  EXPECT_GE(f.acked_bytes, acked[f.flow]);
                  EXPECT_LE(f.acked_bytes, 1'000'000u);
                  EXPECT_LE(f.packets, 4u * 62);  // 250,112 bytes in packets of 4,096
                  acked[f.flow] = f.acked_bytes;
                  most_window = std::max(most_window, f.window_bytes);
                }
              }};
  const PacketResult watched = n.run(o), plain = n.run(with_pairs("4"));
  EXPECT_EQ(watched.digest, plain.digest);
  EXPECT_GT(*std::min_element(acked.begin(), acked.end()), 900'000u);
  PacketOptions one = with_pairs("1");
  double window_of_one = 0;
  one.series = {Duration::us(1), [&](SimTime, auto, std::span<const PacketFlowSample> flows) {
                  for (const PacketFlowSample& f : flows) window_of_one = std::max(window_of_one, f.window_bytes);
                }};
  n.run(one);
  EXPECT_NEAR(most_window, 4 * window_of_one, 0.01 * most_window);
}

TEST(QueuePairs, AreNamedInLogs) {
  LeafSpine n(8, 16, 16);
  n.add(0, 127, 1'000'000);
  n.add(1, 126, 1'000'000);
  PacketOptions o = with_pairs("4");
  std::map<std::pair<std::uint32_t, PacketEvent>, std::uint64_t> counts;
  o.log = {{1}, [&](const PacketLogEntry& e) {
             EXPECT_EQ(e.flow, 1u);
             ++counts[{e.part, e.event}];
           }};
  n.run(o);
  for (std::uint32_t part = 0; part < 4; ++part) {
    EXPECT_EQ((counts[{part, PacketEvent::kStarted}]), 1u) << part;
    EXPECT_EQ((counts[{part, PacketEvent::kEnded}]), 1u) << part;
    EXPECT_EQ((counts[{part, PacketEvent::kReceived}]), part < 3 ? 62u : 61u) << part;
  }
  EXPECT_EQ(counts.rbegin()->first.first, 3u);
}

TEST(QueuePairs, StayWholeInsideAServer) {
  LeafSpine n(2, 4, 2);
  n.add(0, 5, 1'000'000);
  n.list.flows[0].to = n.list.flows[0].from;  // work
  n.list.flows[0].bytes = Bytes{0};
  EXPECT_EQ(cut_for_queue_pairs(n.list, n.topology, 4).list.flows.size(), 1u);
}

}  // namespace
}  // namespace busbar::packet
