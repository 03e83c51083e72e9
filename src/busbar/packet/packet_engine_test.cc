#include "busbar/packet/packet_engine.h"

#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "busbar/packet/collective_flows.h"
#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

program::CollectiveCall ring(std::uint32_t base, std::uint32_t ranks, std::uint64_t bytes) {
  program::CollectiveCall call;
  call.op = collectives::Collective::kAllReduce;
  call.bytes = Bytes{bytes};
  call.groups = collectives::one_group(ranks);
  call.groups.base = base;
  call.algorithm = "ring";
  return call;
}

const PacketOptions kPackets{PacketTransport::kNscc, PacketBalance::kSpray, 1};

TEST(PacketEngine, OneCallTakesAsLongAsItsListOfFlows) {
  const LeafSpine n(2, 4, 2);
  const routing::Placement placement(n.router, n.topology.gpus());
  for (const PacketTransport t : {PacketTransport::kNscc, PacketTransport::kDcqcn, PacketTransport::kIb}) {
    PacketOptions packets{t, PacketBalance::kEcmp, 1};
    if (t == PacketTransport::kDcqcn) packets.settings = {read_packet_setting("queue_pairs", "4").value()};
    const auto engine = make_packet_engine(n.router, placement, {}, packets);
    const program::CallId id = engine->prepare(ring(0, 8, 4'000'000)).value();
    EXPECT_EQ(engine->prepare(ring(0, 8, 4'000'000)).value(), id);
    engine->start(id, 7, SimTime());
    const auto done = engine->advance(SimTime::max());
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->tag, 7u);
    const program::CollectiveCall call = ring(0, 8, 4'000'000);
    const PacketJobs list = run_packet_jobs({&call, 1}, n.router, placement, {}, packets).value();
    EXPECT_EQ(done->at.since_start(), list.ends[0]);
    EXPECT_EQ(engine->counts().data, list.counts.data);
    EXPECT_EQ(engine->counts().marks, list.counts.marks);
    EXPECT_FALSE(engine->advance(SimTime::max()).has_value());
    EXPECT_TRUE(engine->status().ok());
  }
}

// Kernels that are slower send the same packets. Others go on meanwhile, and end first where they are faster.
TEST(PacketEngine, ASlowedCallTakesLongerAndSendsTheSamePackets) {
  const LeafSpine n(2, 4, 4);
  const routing::Placement placement(n.router, n.topology.gpus());
  program::CollectiveCall call = ring(0, 4, 1'000'000);
  const auto run = [&](double slowdown) {
    call.slowdown = slowdown;
    const auto engine = make_packet_engine(n.router, placement, {}, kPackets);
    const program::CallId slow = engine->prepare(call).value(), other = engine->prepare(ring(4, 4, 1'000'000)).value();
    engine->start(slow, 1, SimTime());
    engine->start(other, 2, SimTime() + Duration::us(1));
    std::vector<std::pair<std::uint64_t, SimTime>> ends;
    while (const auto done = engine->advance(SimTime::max())) ends.emplace_back(done->tag, done->at);
    return std::pair(ends, engine->counts().data);
  };
  const auto [alone, packets] = run(1);
  const auto [slowed, same] = run(1.25);
  EXPECT_EQ(packets, same);
  ASSERT_EQ(slowed.size(), 2u);
  EXPECT_EQ(slowed[0], alone[1]);
  EXPECT_EQ(slowed[1].first, 1u);
  EXPECT_NEAR(slowed[1].second.since_start().in_us(), 1.25 * alone[0].second.since_start().in_us(), 1e-5);
}

/// A later run of a call takes as long as the first. So does a call that runs on other hosts at the same time.
TEST(PacketEngine, CallsOneAfterTheOtherTakeEquallyLongAndStrangersDoNotMeet) {
  const LeafSpine n(2, 4, 4);
  const routing::Placement placement(n.router, n.topology.gpus());
  const auto engine = make_packet_engine(n.router, placement, {}, kPackets);
  const program::CallId a = engine->prepare(ring(0, 4, 1'000'000)).value(),
                        b = engine->prepare(ring(4, 4, 1'000'000)).value();
  engine->start(a, 1, SimTime());
  const SimTime first = engine->advance(SimTime::max())->at;
  const SimTime later = first + Duration::us(100);
  engine->start(a, 2, later);
  engine->start(b, 3, later);
  EXPECT_FALSE(engine->advance(later).has_value());  // none ends at once
  const auto x = engine->advance(SimTime::max()), y = engine->advance(SimTime::max());
  ASSERT_TRUE(x && y);
  EXPECT_EQ(x->at - later, first - SimTime());
  EXPECT_EQ(y->at - later, first - SimTime());
}

/// Two rings over the same hosts share their cables: neither ends early, both end after about twice the time of one.
TEST(PacketEngine, CallsOnTheSameCablesShareThem) {
  const LeafSpine n(2, 4, 4);
  const routing::Placement placement(n.router, n.topology.gpus());
  const auto alone = make_packet_engine(n.router, placement, {}, kPackets);
  alone->start(alone->prepare(ring(0, 8, 32'000'000)).value(), 0, SimTime());
  const double one = alone->advance(SimTime::max())->at.since_start().in_us();
  const auto engine = make_packet_engine(n.router, placement, {}, kPackets);
  const program::CallId id = engine->prepare(ring(0, 8, 32'000'000)).value();
  engine->start(id, 0, SimTime());
  engine->start(id, 1, SimTime());
  engine->advance(SimTime::max());
  const double both = engine->advance(SimTime::max())->at.since_start().in_us();
  EXPECT_GT(both, 1.7 * one);
  EXPECT_LT(both, 2.1 * one);
}

struct Ends {
  std::vector<std::pair<std::uint64_t, Duration>> ends;
  PacketCounts counts;
  std::vector<double> link_bytes;
};

/// Four rings of two sizes, each twice; every end starts a ring over all hosts, and asks the engine in steps of time.
Ends run_rings(const LeafSpine& n, PacketOptions packets, std::uint32_t threads) {
  const routing::Placement placement(n.router, n.topology.gpus());
  engine::EngineOptions options;
  options.protocol.launch = Duration::us(2);
  packets.threads = threads;
  const auto engine = make_packet_engine(n.router, placement, options, packets);
  std::vector<program::CallId> calls;
  for (std::uint32_t i = 0; i < 4; ++i) calls.push_back(engine->prepare(ring(i * 4, 4, 60'000 + 10'000 * i)).value());
  const program::CallId all = engine->prepare(ring(0, 16, 160'000)).value();
  Ends out;
  for (std::uint32_t i = 0; i < 8; ++i) engine->start(calls[i % 4], i, SimTime());
  for (std::uint64_t step = 1, tag = 8; out.ends.size() < 16 && step < 500; ++step)
    while (const auto done = engine->advance(SimTime() + Duration::us(5 * static_cast<std::int64_t>(step)))) {
      out.ends.emplace_back(done->tag, done->at.since_start());
      if (done->tag < 8) engine->start(all, tag++, done->at);
    }
  EXPECT_EQ(engine->threads(), threads);
  EXPECT_TRUE(engine->status().ok());
  out.counts = engine->counts();
  out.link_bytes = engine->link_bytes();
  return out;
}

TEST(PacketEngine, ThreadsChangeNoEndNoCountAndNoLink) {
  const LeafSpine n(4, 4, 3, cable(50'000'000'000, Duration::us(2)));  // long cables: few windows
  for (const bool fault : {false, true}) {
    PacketOptions packets{fault ? PacketTransport::kNscc : PacketTransport::kIb, PacketBalance::kEcmp, 1};
    if (fault)
      packets.faults.push_back(
          {named(n, "leaf0->spine1"), PacketFault::Kind::kLoss, 0.02, SimTime(), SimTime::at(Duration::us(60))});
    const Ends one = run_rings(n, packets, 1);
    ASSERT_EQ(one.ends.size(), 16u);
    for (const std::uint32_t threads : {2u, 4u}) {
      SCOPED_TRACE(testing::Message() << fault << threads);
      const Ends several = run_rings(n, packets, threads);
      EXPECT_EQ(several.ends, one.ends);
      EXPECT_EQ(several.link_bytes, one.link_bytes);
      EXPECT_EQ(std::tuple(several.counts.data, several.counts.acks, several.counts.resent, several.counts.drops),
                std::tuple(one.counts.data, one.counts.acks, one.counts.resent, one.counts.drops));
      EXPECT_EQ(several.counts.hops, one.counts.hops);
    }
  }
}

/// Nothing may happen sooner after an end than a window is long.
TEST(PacketEngine, OneThreadRunsCallsThatNeedNoLaunch) {
  const LeafSpine n(4, 4, 3);
  const routing::Placement placement(n.router, n.topology.gpus());
  PacketOptions packets = kPackets;
  packets.threads = 4;
  const auto engine = make_packet_engine(n.router, placement, {}, packets);
  engine->start(engine->prepare(ring(0, 16, 400'000)).value(), 0, SimTime());
  EXPECT_TRUE(engine->advance(SimTime::max()).has_value());
  EXPECT_EQ(engine->threads(), 1u);
}

TEST(PacketEngine, ProgramsThatWouldTakeTooLongAreRefused) {
  const LeafSpine n(2, 4, 4);
  const routing::Placement placement(n.router, n.topology.gpus());
  program::Program p;
  p.calls.push_back(ring(0, 8, 32'000'000));
  program::Op op;
  op.kind = program::OpKind::kCollective;
  op.call = program::CallId{0};
  p.ops.assign(10, op);
  const auto engine = make_packet_engine(n.router, placement, {}, kPackets);
  EXPECT_TRUE(check_packet_program(*engine, p, 100).ok());
  const Status refused = check_packet_program(*engine, p, 0.5);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("--engine flow"), std::string::npos);
}

}  // namespace
}  // namespace busbar::packet
