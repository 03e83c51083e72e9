#include "busbar/packet/packet_list.h"

#include <gtest/gtest.h>

#include <cmath>

#include "busbar/base/random.h"
#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

const PacketOptions kSprayed{PacketTransport::kNscc, PacketBalance::kSpray, 1};

/// One flow on an idle network of equal cables: all packets except the last in a row at the first cable, then the last
/// one behind a full one at each hop, and one acknowledgement back. 50 GB/s and 500 ns per cable.
std::int64_t alone_ps(std::uint64_t bytes, std::int64_t hops) {
  const auto full = static_cast<std::int64_t>((bytes - 1) / 4096),
             last = static_cast<std::int64_t>(bytes) - full * 4096 + 64;
  const std::int64_t behind = full > 0 ? 4160 : last;
  return 20 * (full * 4160 + last + (hops - 1) * behind + hops * 64) + 2 * hops * 500'000;
}

TEST(PacketList, OneFlowTakesItsClosedFormToThePicosecond) {
  for (const std::uint64_t bytes : {2'000'000u, 1u, 64u, 4096u, 4097u, 8192u, 100'000u, 1'048'576u}) {
    LeafSpine n(8, 16, 16);
    n.add(0, 127, bytes);
    EXPECT_EQ(n.run().flows[0].fct.in_ps(), alone_ps(bytes, 4)) << bytes << " bytes";
    LeafSpine near(2, 16, 1);
    near.add(3, 7, bytes);
    EXPECT_EQ(near.run().flows[0].fct.in_ps(), alone_ps(bytes, 2)) << bytes << " bytes";
  }
  LeafSpine n(8, 16, 16);  // also over many paths: the short packet may overtake others, but not the whole flow
  n.add(0, 127, 2'000'000);
  EXPECT_EQ(n.run(kSprayed).flows[0].fct.in_ps(), 44'880'640);
  EXPECT_EQ(alone_ps(2'000'000, 4), 44'880'640);
  EXPECT_EQ(alone_ps(2'000'000, 2), 42'711'680);
}

/// Doubling every rate without latency halves every time.
TEST(PacketList, TwiceTheRateTakesHalfTheTime) {
  LeafSpine slow(2, 4, 2, cable(25'000'000'000, Duration())), fast(2, 4, 2, cable(50'000'000'000, Duration()));
  for (LeafSpine* n : {&slow, &fast}) n->add(0, 6, 3'000'000);
  EXPECT_EQ(slow.run(kSprayed).flows[0].fct, fast.run(kSprayed).flows[0].fct * 2);
}

void expect_whole(const PacketResult& r) {
  for (const PacketOutcome& f : r.flows) {
    const PacketParts& p = f.parts;
    for (const Duration d :
         {p.serialisation, p.propagation, p.queueing, p.pause, p.held, p.retransmission, p.acknowledgement})
      EXPECT_GE(d, Duration());
    EXPECT_EQ(p.serialisation + p.propagation + p.queueing + p.pause + p.held + p.retransmission + p.acknowledgement,
              f.fct);
  }
}

TEST(PacketList, AnIncastKeepsItsPortBusyAndEndsWithinTwoPercentOfTheIdeal) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    LeafSpine n(8, 16, 16);
    for (std::uint32_t k = 0; k < 32; ++k) n.add(16 + 3 * k, 0, 1'000'000);
    const PacketResult r = n.run({PacketTransport::kNscc, PacketBalance::kSpray, seed});
    const double ideal_us = 652.2848;  // three hops of 583.2 ns, then 32 x (244 x 4160 + 640) bytes in a row, 500 ns
    EXPECT_GE(r.received.since_start().in_us(), ideal_us);
    EXPECT_LE(r.received.since_start().in_us(), 1.02 * ideal_us);
    EXPECT_GT(r.trims, 0u);
    EXPECT_EQ(r.drops, 0u);
    EXPECT_EQ(r.timeouts, 0u);
    expect_whole(r);
  }
}

TEST(PacketList, TwoFlowsIntoOneHostShareItEvenly) {
  LeafSpine n(8, 16, 16);
  n.add(16, 0, 8'000'000);
  n.add(32, 0, 8'000'000);
  const PacketResult r = n.run(kSprayed);
  EXPECT_GE(r.end.since_start().in_us(), 329.3);
  EXPECT_LE(r.end.since_start().in_us(), 1.02 * 329.3);
  EXPECT_GE(r.flows[0].fct.in_us() + r.flows[1].fct.in_us(), 1.9 * 329.3);  // neither ends long before the other
  expect_whole(r);
}

/// Every host sends and receives at full rate: with enough spines and even spraying no packet waits for long.
TEST(PacketList, SprayedPermutationsQueueAFewPackets) {
  LeafSpine n(8, 16, 16);
  for (std::uint32_t h = 0; h < 128; ++h) n.add(h, (h + 16) % 128, 2'000'000);
  const PacketResult r = n.run(kSprayed);
  EXPECT_GE(r.end.since_start().in_us(), 44.88);
  EXPECT_LE(r.end.since_start().in_us(), 51);
  for (const PacketLink& l : r.links) EXPECT_LE(l.queue_max, 32u * 4160) << n.topology.name(l.link);
  expect_whole(r);
}

TEST(PacketList, AHopCostsOneEvent) {
  LeafSpine n(4, 8, 8);
  for (std::uint32_t h = 0; h < 32; ++h) n.add(h, (h + 8) % 32, 500'000);
  const PacketResult r = n.run(kSprayed);
  EXPECT_GE(r.hops, 32u * 123 * 4);
  EXPECT_LE(static_cast<double>(r.events), 1.05 * static_cast<double>(r.hops));
}

TEST(PacketList, AfterWaitsForTheLastByteOrForItsAcknowledgement) {
  LeafSpine n(2, 4, 2);
  n.add(0, 4, 10'000);
  n.add(4, 0, 1000, {}, {0});
  n.add(1, 5, 1000, {}, {0}, program::FlowTrigger::kAcked);
  n.add(2, 6, 1000, Duration::us(50), {1, 2});
  const PacketResult r = n.run(kSprayed);
  EXPECT_EQ(r.flows[1].start, r.flows[0].start + r.flows[0].received);
  EXPECT_EQ(r.flows[2].start, r.flows[0].start + r.flows[0].fct);
  EXPECT_EQ(r.flows[3].start, SimTime::at(Duration::us(50)));
}

TEST(PacketList, EqualInputsGiveEqualResultsAndOtherSeedsOthers) {
  LeafSpine n(4, 8, 4);
  for (std::uint32_t h = 0; h < 32; ++h) n.add(h, (7 * h + 5) % 32, 300'000);
  const PacketOptions ecmp{PacketTransport::kNscc, PacketBalance::kEcmp, 7};
  EXPECT_EQ(n.run(ecmp).digest, n.run(ecmp).digest);
  EXPECT_NE(n.run(ecmp).digest, n.run({PacketTransport::kNscc, PacketBalance::kEcmp, 8}).digest);
}

/// Poisson arrivals of packets of one size at one port: the mean wait of M/D/1 is rho / (2 (1 - rho)) services.
/// Source: Kleinrock, Queueing Systems I, Pollaczek-Khinchine mean-value formula.
TEST(PacketList, PoissonArrivalsWaitAsQueueingTheorySays) {
  for (const double rho : {0.5, 0.8}) {
    LeafSpine n(1, 201, 0);
    RandomStream random(5, "poisson");
    const double service_ns = 83.2;
    double at_ns = 0;
    const int count = 60'000;
    for (int i = 0; i < count; ++i) {
      at_ns += -std::log(1 - random.uniform()) * service_ns / rho;
      n.add(static_cast<std::uint32_t>(1 + random.below(200)), 0, 4096, Duration::ps(std::llround(at_ns * 1000)));
    }
    const PacketResult r = n.run();
    double wait_ns = 0;
    for (const PacketOutcome& f : r.flows) wait_ns += f.parts.queueing.in_us() * 1000;
    const double expected = rho / (2 * (1 - rho));
    EXPECT_NEAR(wait_ns / count / service_ns, expected, 0.05 * expected) << "rho " << rho;
  }
}

TEST(PacketList, AStoppedRunGivesTheFlowsThatEnded) {
  LeafSpine n(2, 4, 2);
  n.add(0, 4, 10'000);
  n.add(1, 5, 1'000'000'000);
  std::sig_atomic_t stop = 0;
  PacketOptions o = kSprayed;
  o.stop = &stop;
  std::uint64_t calls = 0;
  o.progress = [&](const PacketProgress& p) {
    ++calls;
    EXPECT_EQ(p.done, 1u);
    EXPECT_EQ(p.flows, 2u);
    EXPECT_GT(p.hops_expected, static_cast<double>(p.hops));
    stop = 1;
  };
  const PacketResult r = n.run(o);
  EXPECT_EQ(calls, 1u);
  EXPECT_EQ(r.done, 1u);
  EXPECT_TRUE(r.flows[0].done);
  EXPECT_FALSE(r.flows[1].done);
}

TEST(PacketList, ARunThatWouldNotFitOrTakeHoursIsRefusedWithAnEstimate) {
  LeafSpine n(2, 4, 2);
  for (std::uint32_t f = 0; f < 1000; ++f) n.add(f % 4, 4 + f % 4, 1'000'000);
  PacketOptions o = kSprayed;
  o.memory_bytes = 1e5;
  const auto small = run_packet_list(n.router, n.list, o);
  ASSERT_FALSE(small.ok());
  EXPECT_EQ(small.error().code, ErrorCode::kDoesNotFit);
  EXPECT_NE(small.error().message.find("GB of memory"), std::string::npos);
  o.memory_bytes = 1e9;
  EXPECT_TRUE(run_packet_list(n.router, n.list, o).ok());
  o.patience_s = 0.1;
  const auto slow = run_packet_list(n.router, n.list, o);
  ASSERT_FALSE(slow.ok());
  EXPECT_NE(slow.error().message.find("--engine flow"), std::string::npos);
}

TEST(PacketList, APairWithoutAWayIsNamed) {
  topology::TopologyBuilder b;
  const std::uint32_t host = b.add_template(bare_host());
  for (int h = 0; h < 2; ++h) b.add_block(host);
  const topology::Topology t = std::move(b).seal();
  const routing::Router router(t, topology::RoutingPolicy::kStatic);
  program::FlowList list;
  list.flows.push_back(
      {t.gpus()[0], t.gpus()[1], kNone<topology::DeviceId>, kNone<topology::DeviceId>, Bytes{1}, {}, {}});
  list.after.close_row();
  const Result<PacketResult> r = run_packet_list(router, list, {});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, ErrorCode::kUnreachable);
  EXPECT_NE(r.error().message.find("node1.gpu0"), std::string::npos);
}

}  // namespace
}  // namespace busbar::packet
