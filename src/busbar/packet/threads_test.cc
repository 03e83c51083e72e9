// Runs on several threads equal those on one.
#include "busbar/packet/internal/threads.h"

#include <gtest/gtest.h>

#include <tuple>

#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

/// Equal in everything but the number of events.
void expect_equal(const PacketResult& a, const PacketResult& b) {
  EXPECT_EQ(a.digest, b.digest);
  EXPECT_EQ(a.hops, b.hops);
  EXPECT_EQ(a.end, b.end);
  EXPECT_EQ(a.received, b.received);
  EXPECT_EQ(std::tuple(a.done, a.data, a.acks, a.nacks, a.resent, a.trims, a.drops, a.marks, a.pauses, a.timeouts),
            std::tuple(b.done, b.data, b.acks, b.nacks, b.resent, b.trims, b.drops, b.marks, b.pauses, b.timeouts));
  ASSERT_EQ(a.flows.size(), b.flows.size());
  for (std::size_t f = 0; f < a.flows.size(); ++f) {
    const PacketParts &x = a.flows[f].parts, &y = b.flows[f].parts;
    EXPECT_EQ(x.serialisation, y.serialisation);
    EXPECT_EQ(x.queueing, y.queueing);
    EXPECT_EQ(x.pause, y.pause);
    EXPECT_EQ(x.held, y.held);
    EXPECT_EQ(x.retransmission, y.retransmission);
    EXPECT_EQ(x.acknowledgement, y.acknowledgement);
    EXPECT_EQ(a.flows[f].held_by, b.flows[f].held_by);
    EXPECT_EQ(a.flows[f].resent, b.flows[f].resent);
  }
  ASSERT_EQ(a.links.size(), b.links.size());
  for (std::size_t l = 0; l < a.links.size(); ++l) {
    const PacketLink &x = a.links[l], &y = b.links[l];
    EXPECT_EQ(std::tuple(x.link, x.bytes, x.marks, x.trims, x.drops, x.pauses, x.paused, x.queue_p50, x.queue_p99),
              std::tuple(y.link, y.bytes, y.marks, y.trims, y.drops, y.pauses, y.paused, y.queue_p50, y.queue_p99));
    EXPECT_EQ(x.queue_max, y.queue_max);
  }
}

/// A permutation, an incast on top of it, and flows that answer others.
LeafSpine busy_leaf_spine() {
  LeafSpine n(4, 4, 3);
  for (std::uint32_t h = 0; h < 16; ++h) n.add(h, (h + 5) % 16, 300'000 + 1000 * h);
  for (std::uint32_t h = 4; h < 16; ++h) n.add(h, 0, 100'000, Duration::us(2));
  for (std::uint32_t h = 0; h < 16; ++h) n.add((h + 5) % 16, (h + 11) % 16, 50'000, {}, {h});
  for (std::uint32_t h = 0; h < 16; ++h) n.add(h, (h + 7) % 16, 20'000, {}, {h}, program::FlowTrigger::kAcked);
  return n;
}

PacketResult run_on(const LeafSpine& n, PacketOptions options, std::uint32_t threads) {
  options.threads = threads;
  options.notice = [](const std::string& text) { ADD_FAILURE() << text; };
  const PacketResult r = n.run(options);
  EXPECT_EQ(r.threads, threads);
  return r;
}

TEST(Threads, GiveTheSameResultForEveryTransportAndEveryBalance) {
  const LeafSpine n = busy_leaf_spine();
  for (const PacketTransport t : {PacketTransport::kNscc, PacketTransport::kDcqcn, PacketTransport::kHpcc,
                                  PacketTransport::kRoce, PacketTransport::kSwift, PacketTransport::kIb,
                                  PacketTransport::kTcpCubic, PacketTransport::kDctcp, PacketTransport::kCredit}) {
    for (const PacketBalance b :
         {PacketBalance::kEcmp, PacketBalance::kSpray, PacketBalance::kAdaptive, PacketBalance::kFlowlet}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(t) << ' ' << static_cast<int>(b));
      const PacketResult one = run_on(n, {t, b, 3}, 1);
      EXPECT_EQ(one.done, n.list.flows.size());
      for (const std::uint32_t threads : {2u, 3u, 4u}) expect_equal(run_on(n, {t, b, 3}, threads), one);
    }
  }
}

TEST(Threads, GiveTheSameResultWithCutThroughAndBackgroundTraffic) {
  const LeafSpine n = busy_leaf_spine();
  for (const PacketTransport t : {PacketTransport::kNscc, PacketTransport::kDcqcn, PacketTransport::kIb}) {
    PacketOptions o{t, PacketBalance::kAdaptive, 5};
    o.cut_through = true;
    expect_equal(run_on(n, o, 3), run_on(n, o, 1));
    o.background = BackgroundTraffic{};
    o.background->load = 0.2;
    o.background->until = SimTime::at(Duration::us(20));
    o.background->sizes.points = {{10'000, 0}, {30'000, 1}};
    expect_equal(run_on(n, o, 4), run_on(n, o, 1));
  }
}

/// Four leaves: at most four threads have work.
TEST(Threads, AreNoMoreThanTheNetworkHasPartsAndSaySo) {
  const LeafSpine n = busy_leaf_spine();
  PacketOptions o{PacketTransport::kNscc, PacketBalance::kSpray, 1};
  o.threads = 9;
  std::string said;
  o.notice = [&](const std::string& text) { said = text; };
  const PacketResult r = n.run(o);
  EXPECT_EQ(r.threads, 4u);
  EXPECT_NE(said.find("4 of 9 threads run"), std::string::npos) << said;
  o.threads = 1;
  expect_equal(r, n.run(o));
}

/// A flow that starts at once when one elsewhere ends cannot be on another thread.
TEST(Threads, KeepFlowsThatTriggerEachOtherTogether) {
  LeafSpine n(2, 2, 2);
  n.add(0, 2, 100'000);
  n.add(1, 3, 100'000, {}, {0});  // host 1 starts it when host 2 has all data
  PacketOptions o;
  o.threads = 2;
  std::string said;
  o.notice = [&](const std::string& text) { said = text; };
  const PacketResult r = n.run(o);
  EXPECT_EQ(r.threads, 1u);
  EXPECT_NE(said.find("1 of 2 threads run"), std::string::npos) << said;
  EXPECT_EQ(r.flows[1].start, r.flows[0].start + r.flows[0].received);
}

/// Links that slow down, lose packets, fail and come back, hosts that are slow and storms of pauses, on all threads.
TEST(Threads, GiveTheSameResultWithFaults) {
  const LeafSpine n = busy_leaf_spine();
  const auto at = [](std::int64_t us) { return SimTime::at(Duration::us(us)); };
  const auto down = PacketFault::Kind::kDown;
  std::vector<PacketFault> faults{{named(n, "leaf0->spine1"), down, 0, at(3), at(400)},
                                  {named(n, "spine1->leaf0"), down, 0, at(3), at(400)},
                                  {named(n, "spine2->leaf3"), PacketFault::Kind::kRate, 0.3, at(2), at(30)},
                                  {named(n, "leaf2->spine0"), PacketFault::Kind::kLoss, 0.02, at(0)}};
  const topology::LinkId to_host = topology::reverse(uplink(n, 6));
  faults.push_back({to_host, PacketFault::Kind::kSlow, 0.5, at(1)});
  for (const PacketTransport t : {PacketTransport::kNscc, PacketTransport::kDcqcn, PacketTransport::kIb,
                                  PacketTransport::kSwift, PacketTransport::kCredit}) {
    SCOPED_TRACE(static_cast<int>(t));
    PacketOptions o{t, PacketBalance::kSpray, 5};
    o.faults = faults;
    o.reroute_after = Duration::us(20);
    if (t == PacketTransport::kDcqcn) o.faults.push_back({to_host, PacketFault::Kind::kStorm, 0, at(5), at(50)});
    const PacketResult one = run_on(n, o, 1);
    EXPECT_EQ(one.done, n.list.flows.size());
    EXPECT_GT(one.drops, 0u);
    for (const std::uint32_t threads : {2u, 3u, 4u}) expect_equal(run_on(n, o, threads), one);
  }
}

/// What faults keep from ending is told as on one thread, and the rest of the result is the same.
TEST(Threads, TellOfFlowsThatFaultsBlockAsOneThreadDoes) {
  const LeafSpine n = busy_leaf_spine();
  PacketOptions o{PacketTransport::kRoce, PacketBalance::kEcmp, 1};
  o.faults = {{uplink(n, 3), PacketFault::Kind::kDown, 0, SimTime::at(Duration::us(5))}};
  const PacketResult one = run_on(n, o, 1);
  EXPECT_NE(one.stuck, "");
  o.threads = 3;
  const PacketResult three = n.run(o);
  EXPECT_EQ(three.stuck, one.stuck);
  expect_equal(three, one);
}

/// Few hops are not worth a second thread. Large runs take what is idle, and nothing is said about it.
TEST(Threads, NobodyAskedForChangeNothing) {
  LeafSpine large(4, 16, 4), small(4, 4, 4);
  for (std::uint32_t h = 0; h < 64; ++h) large.add(h, (h + 17) % 64, 8'000'000);
  small.add(0, 9, 100'000);
  PacketOptions o{PacketTransport::kNscc, PacketBalance::kSpray, 1};
  o.threads = 0;
  o.notice = [](const std::string& text) { ADD_FAILURE() << text; };
  EXPECT_EQ(small.run(o).threads, 1u);
  const PacketResult r = large.run(o);
  o.threads = 1;
  expect_equal(large.run(o), r);
}

/// A run that cannot go on is explained as it is on one thread.
TEST(Threads, TellOfADeadlockAsOneThreadDoes) {
  // Five leaves in a ring without a spine. Each host sends to the second leaf after its own.
  topology::TopologyBuilder b;
  const std::uint32_t host = b.add_template(bare_host());
  for (int h = 0; h < 10; ++h) b.add_block(host);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  std::vector<topology::DeviceId> s;
  for (int i = 0; i < 5; ++i) s.push_back(b.add_switch(leaf, "leaf" + std::to_string(i)));
  const topology::LinkClass link = cable(50'000'000'000, Duration::ns(500));
  for (std::uint32_t h = 0; h < 10; ++h) b.connect(b.device(static_cast<topology::BlockId>(h), 1), s[h / 2], link);
  for (std::uint32_t i = 0; i < 5; ++i) b.connect(s[i], s[(i + 1) % 5], link);
  const topology::Topology t = std::move(b).seal();
  const routing::Router router(t, topology::RoutingPolicy::kStatic);
  program::FlowList list;
  for (std::uint32_t h = 0; h < 10; ++h) {
    const topology::DeviceId a = t.gpus()[h], z = t.gpus()[(h + 4) % 10];
    list.flows.push_back({a, z, router.nearest_nic(a, 0), router.nearest_nic(z, 0), Bytes{20'000'000}, {}, {}});
    list.after.close_row();
  }
  PacketOptions o{PacketTransport::kRoce, PacketBalance::kEcmp, 1};
  const auto small = [](Profile& p) { p.network.pause_fixed = 20'000; };
  const auto one = run_adjusted(router, list, o, small);
  o.threads = 3;
  const auto three = run_adjusted(router, list, o, small);
  ASSERT_FALSE(one.ok());
  ASSERT_FALSE(three.ok());
  EXPECT_EQ(three.error().message, one.error().message);
}

TEST(Threads, StopWhenTheyAreTold) {
  const LeafSpine n = busy_leaf_spine();
  std::sig_atomic_t stop = 0;
  PacketOptions o{PacketTransport::kNscc, PacketBalance::kSpray, 1};
  o.threads = 2;
  o.stop = &stop;
  o.progress = [&](const PacketProgress& p) { stop = p.now > SimTime::at(Duration::us(3)) ? 1 : 0; };
  const PacketResult r = n.run(o);
  EXPECT_LT(r.done, n.list.flows.size());
}

}  // namespace
}  // namespace busbar::packet
