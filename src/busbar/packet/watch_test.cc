#include "busbar/packet/watch.h"

#include <gtest/gtest.h>

#include <map>

#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

/// Eight hosts send to one, with two lanes if `lanes`.
void add_watched_incast(LeafSpine& n, bool lanes = false) {
  for (std::uint32_t f = 0; f < 8; ++f) {
    n.add(1 + f, 0, 400'000, Duration::ns(137 * f));
    n.list.flows.back().lane = lanes ? f % 2 : 0;
  }
}

constexpr PacketTransport kWatched[] = {PacketTransport::kNscc, PacketTransport::kDcqcn, PacketTransport::kRoce,
                                        PacketTransport::kIb, PacketTransport::kSwift};

/// Looking at ports and hosts decides the turns that have passed. That must not change what the run does later.
TEST(Watch, SamplesAndLogsChangeNoResult) {
  for (const PacketTransport transport : kWatched) {
    for (const PacketBalance balance : {PacketBalance::kEcmp, PacketBalance::kSpray, PacketBalance::kAdaptive}) {
      LeafSpine n(2, 8, 2);
      add_watched_incast(n);
      PacketOptions options{transport, balance, 1};
      const auto plain = run_packet_list(n.router, n.list, options);
      std::size_t looks = 0, entries = 0;
      options.series = {Duration::ns(777), [&](SimTime, auto, auto) { ++looks; }};
      options.log = {{0, 5}, [&](const PacketLogEntry&) { ++entries; }};
      const auto watched = run_packet_list(n.router, n.list, options);
      ASSERT_TRUE(plain.ok() && watched.ok());
      EXPECT_EQ(plain->digest, watched->digest);
      EXPECT_EQ(plain->hops, watched->hops);
      EXPECT_EQ(plain->marks, watched->marks);
      EXPECT_GT(looks, 50u);
      EXPECT_GT(entries, 2u * 98);
    }
  }
}

/// What a link sends between two samples is no more than its rate allows, and the sums of a sample only grow.
TEST(Watch, ALinkSendsNoFasterThanItsRate) {
  LeafSpine n(2, 8, 2);
  add_watched_incast(n);
  PacketOptions options{PacketTransport::kDcqcn, PacketBalance::kEcmp, 1};
  std::vector<PacketLinkSample> before;
  std::uint64_t most_queue = 0;
  double busiest = 0;
  options.series.every = Duration::us(5);
  options.series.look = [&](SimTime, std::span<const PacketLinkSample> now, std::span<const PacketFlowSample> flows) {
    for (std::size_t w = 0; w < now.size(); ++w) {
      most_queue = std::max(most_queue, now[w].queue_bytes);
      if (before.empty()) continue;
      EXPECT_GE(now[w].sent_bytes, before[w].sent_bytes);
      EXPECT_GE(now[w].paused, before[w].paused);
      const double sent = static_cast<double>(now[w].sent_bytes - before[w].sent_bytes);
      EXPECT_LE(sent, 50e9 * 5e-6 + 4160);
      busiest = std::max(busiest, sent);
    }
    before.assign(now.begin(), now.end());
    for (const PacketFlowSample& f : flows) EXPECT_LE(f.packets, 98u);
  };
  const auto r = run_packet_list(n.router, n.list, options);
  ASSERT_TRUE(r.ok());
  EXPECT_GE(busiest, 50e9 * 5e-6 - 4160);
  std::uint64_t queue = 0;
  for (const PacketLink& l : r->links) queue = std::max(queue, l.queue_max);
  EXPECT_LE(most_queue, queue);
  EXPECT_GT(most_queue, queue / 2);
}

/// The entries of one flow account for its packets, one by one.
TEST(Watch, ALogHoldsEveryEventOfItsFlowsAndNoOther) {
  LeafSpine n(2, 8, 2);
  add_watched_incast(n);
  PacketOptions options{PacketTransport::kNscc, PacketBalance::kSpray, 1};
  std::vector<PacketLogEntry> log;
  options.log = {{3}, [&](const PacketLogEntry& e) { log.push_back(e); }};
  const auto r = run_packet_list(n.router, n.list, options);
  ASSERT_TRUE(r.ok());
  std::map<PacketEvent, std::uint64_t> counts;
  for (const PacketLogEntry& e : log) {
    EXPECT_EQ(e.flow, 3u);
    EXPECT_GE(e.at, r->flows[3].start);
    EXPECT_LE(e.at, r->flows[3].start + r->flows[3].fct);
    ++counts[e.event];
  }
  EXPECT_EQ(counts[PacketEvent::kStarted], 1u);
  EXPECT_EQ(counts[PacketEvent::kEnded], 1u);
  EXPECT_EQ(counts[PacketEvent::kSent], 98u);
  EXPECT_EQ(counts[PacketEvent::kResent], r->flows[3].resent);
  EXPECT_EQ(counts[PacketEvent::kTrimmed], counts[PacketEvent::kResent]);
  EXPECT_EQ(counts[PacketEvent::kReceived], 98u);
  EXPECT_EQ(log.back().event, PacketEvent::kEnded);
  EXPECT_EQ(log.back().at, r->flows[3].start + r->flows[3].fct);
}

/// The counts of lanes sum to those of the run.
TEST(Watch, LanesCountWhatIsTheirs) {
  for (const PacketTransport transport : kWatched) {
    LeafSpine n(2, 8, 2);
    add_watched_incast(n, true);
    PacketOptions options{transport, PacketBalance::kEcmp, 1};
    options.lanes = {3, 1};
    for (const std::uint32_t threads : {1u, 2u}) {
      options.threads = threads;
      const auto r = run_packet_list(n.router, n.list, options);
      ASSERT_TRUE(r.ok());
      ASSERT_EQ(r->lanes.size(), 2u);
      PacketLane sum;
      for (const PacketLane& l : r->lanes) {
        EXPECT_GE(l.data, 4u * 98);
        sum.data += l.data;
        sum.resent += l.resent;
        sum.marks += l.marks;
        sum.trims += l.trims;
        sum.drops += l.drops;
        sum.pauses += l.pauses;
      }
      EXPECT_EQ(sum.data, r->data);
      EXPECT_EQ(sum.resent, r->resent);
      EXPECT_EQ(sum.marks, r->marks);
      EXPECT_EQ(sum.trims, r->trims);
      EXPECT_EQ(sum.drops, r->drops);
      EXPECT_EQ(sum.pauses, r->pauses);
    }
  }
}

}  // namespace
}  // namespace busbar::packet
