// Links that fail, slow down and lose packets, and slow hosts: closed forms where they exist.
#include <gtest/gtest.h>

#include <cmath>

#include "busbar/packet/internal/profile.h"
#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

using FaultKind = PacketFault::Kind;

SimTime at_ps(std::int64_t ps) { return SimTime::at(Duration::ps(ps)); }

PacketOptions with(PacketTransport t, PacketBalance b, std::vector<PacketFault> faults) {
  PacketOptions o{t, b, 1};
  o.faults = std::move(faults);
  return o;
}

void expect_done_and_whole(const PacketResult& r) {
  for (const PacketOutcome& f : r.flows) {
    const PacketParts& p = f.parts;
    EXPECT_TRUE(f.done);
    EXPECT_EQ(p.serialisation + p.propagation + p.queueing + p.pause + p.held + p.retransmission + p.acknowledgement,
              f.fct);
  }
}

constexpr std::int64_t kAlone = 488 * kSlot + 1216 * 20 + kSlot + 2 * (64 * 20) + 4 * 500'000;  ///< 2 MB over one leaf

/// Packet 100 is lost on its first cable. The sender learns of it when packet 101 has crossed two hops and a report of
/// 64 bytes two hops back; until then 28 packets have left. Going back sends them again; keeping them costs one slot.
TEST(Faults, OneLostPacketCostsTheRoundTripOrOneSlot) {
  const auto run = [](const LeafSpine& n, PacketTransport t, Recovery r, std::vector<PacketFault> faults) {
    return run_adjusted(n.router, n.list, with(t, PacketBalance::kEcmp, std::move(faults)),
                        [&](Profile& p) { p.hosts.recovery = r; })
        .value();
  };
  for (const auto& [transport, recovery, again] : {std::tuple{PacketTransport::kRoce, Recovery::kGoBack, 28},
                                                   {PacketTransport::kRoce, Recovery::kSelective, 1},
                                                   {PacketTransport::kIb, Recovery::kGoBack, 28},
                                                   {PacketTransport::kIb, Recovery::kSelective, 1}}) {
    LeafSpine n(1, 2, 0);
    n.add(0, 1, 2'000'000);
    const std::int64_t arrives = 101 * kSlot + 500'000;
    const PacketFault gone{uplink(n, 0), FaultKind::kDown, 0, at_ps(arrives - 1000), at_ps(arrives + 1000)};
    const PacketResult r = run(n, transport, recovery, {gone}), healthy = run(n, transport, recovery, {});
    EXPECT_EQ(r.drops, 1u);
    EXPECT_EQ(r.timeouts, 0u);
    EXPECT_EQ(r.resent, static_cast<std::uint64_t>(again));
    EXPECT_NEAR(static_cast<double>(healthy.flows[0].fct.in_ps()), kAlone,
                160);  // credits of 8 bytes before the answer
    EXPECT_EQ(r.flows[0].fct, healthy.flows[0].fct + Duration::ps(again * kSlot));
    expect_done_and_whole(r);
  }
  LeafSpine n(1, 2, 0);  // both go back unless told otherwise
  n.add(0, 1, 2'000'000);
  const PacketFault gone{uplink(n, 0), FaultKind::kDown, 0, at_ps(101 * kSlot + 499'000), at_ps(101 * kSlot + 501'000)};
  for (const PacketTransport t : {PacketTransport::kRoce, PacketTransport::kIb})
    EXPECT_EQ(n.run(with(t, PacketBalance::kEcmp, {gone})).resent, 28u);
}

TEST(Faults, LossesHitTheirShareAndEveryTransportGetsEverythingThrough) {
  for (const PacketTransport t : {PacketTransport::kNscc, PacketTransport::kDcqcn, PacketTransport::kHpcc,
                                  PacketTransport::kRoce, PacketTransport::kSwift, PacketTransport::kIb,
                                  PacketTransport::kTcpCubic, PacketTransport::kDctcp, PacketTransport::kCredit}) {
    for (const PacketBalance b : {PacketBalance::kEcmp, PacketBalance::kSpray}) {
      LeafSpine n(2, 8, 4);
      for (std::uint32_t h = 0; h < 8; ++h) n.add(h, 8 + h, 1'000'000);
      std::vector<PacketFault> faults;
      for (std::uint32_t h = 8; h < 16; ++h)
        faults.push_back({topology::reverse(uplink(n, h)), FaultKind::kLoss, 0.02, {}});
      const PacketResult r = n.run(with(t, b, faults));
      EXPECT_EQ(r.done, 8u) << static_cast<int>(t) << r.stuck;
      std::uint64_t crossed = 0;
      for (const PacketLink& l : r.links)
        if (n.topology.kind(n.topology.to(l.link)) == topology::DeviceKind::kNic && l.drops > 0)
          crossed += l.bytes / 4160;
      const double least = 0.02 * static_cast<double>(crossed), most = least + 0.02 * static_cast<double>(r.trims);
      EXPECT_GE(static_cast<double>(r.drops), least - 5 * std::sqrt(least)) << static_cast<int>(t);
      EXPECT_LE(static_cast<double>(r.drops), most + 5 * std::sqrt(most)) << static_cast<int>(t);
      EXPECT_GE(r.resent, r.drops / 2);
      expect_done_and_whole(r);
    }
  }
}

/// From 10 us on a quarter of the rate is left: packets that have not left by then take four times as long.
TEST(Faults, ALinkDegradedAtATimeSlowsLaterTraffic) {
  LeafSpine n(1, 2, 0);
  n.add(0, 1, 4096 * 400);
  const std::int64_t from = 120 * kSlot - 1;  // in the middle of the 120th packet
  const PacketResult r =
      n.run(with(PacketTransport::kRoce, PacketBalance::kEcmp, {{uplink(n, 0), FaultKind::kRate, 0.25, at_ps(from)}}));
  EXPECT_EQ(r.flows[0].received.in_ps(), 120 * kSlot + 280 * 4 * kSlot + kSlot + 2 * 500'000);
  expect_done_and_whole(r);
}

/// A host takes half of what its wire brings: lossless networks hold the rest back, nothing is lost.
TEST(Faults, ASlowReceiverSetsThePaceOfItsSender) {
  for (const PacketTransport t :
       {PacketTransport::kRoce, PacketTransport::kIb, PacketTransport::kDcqcn, PacketTransport::kNscc}) {
    LeafSpine n(1, 4, 0);
    n.add(0, 1, 4096 * 2000);
    n.add(2, 3, 4096 * 2000);  // on other wires, so no victim
    const PacketResult r =
        n.run(with(t, PacketBalance::kEcmp, {{topology::reverse(uplink(n, 1)), FaultKind::kSlow, 0.5, SimTime()}}));
    const double ideal_ps = 2000.0 * 2 * kSlot;
    EXPECT_GE(static_cast<double>(r.flows[0].received.in_ps()), ideal_ps);
    EXPECT_LE(static_cast<double>(r.flows[0].received.in_ps()), 1.05 * ideal_ps) << static_cast<int>(t);
    EXPECT_LE(static_cast<double>(r.flows[1].received.in_ps()), 2000.0 * kSlot + 2e6);
    if (t != PacketTransport::kNscc) EXPECT_EQ(r.drops, 0u);
    if (t == PacketTransport::kRoce) EXPECT_GT(r.pauses, 0u);
    expect_done_and_whole(r);
  }
}

/// A host pauses its leaf from 10 us to 2 ms. The leaf fills and pauses its neighbours, so a flow between healthy hosts
/// stops as well. With its own ports free it would end after 330 us.
/// With credits the host takes nothing out of its buffer meanwhile, and its leaf gets none back.
TEST(Faults, AStormOfPausesReachesFlowsToOtherHosts) {
  const auto run = [](PacketTransport transport, bool storm) {
    LeafSpine n(2, 4, 1);
    n.add(0, 4, 16'000'000);
    n.add(0, 5, 8'000'000);
    std::vector<PacketFault> faults;
    if (storm)
      faults.push_back({topology::reverse(uplink(n, 4)), FaultKind::kStorm, 0, SimTime::at(Duration::us(10)),
                        SimTime::at(Duration::us(2000))});
    const PacketResult r = n.run(with(transport, PacketBalance::kEcmp, faults));
    EXPECT_EQ(r.done, 2u);
    EXPECT_EQ(r.drops, 0u);
    expect_done_and_whole(r);
    return std::pair{r.flows[0].received.in_us(), r.flows[1].received.in_us()};
  };
  for (const PacketTransport t : {PacketTransport::kRoce, PacketTransport::kIb}) {
    const auto [hit, victim] = run(t, true);
    const auto [healthy, beside] = run(t, false);
    EXPECT_GT(hit, 2000) << static_cast<int>(t);
    EXPECT_LT(healthy, 500) << static_cast<int>(t);
    EXPECT_LT(beside, 400) << static_cast<int>(t);
    EXPECT_GT(victim, beside) << static_cast<int>(t);
  }
}

/// One of four spines loses its cable for good. Each lost packet takes its grant along, which the sender must get back.
TEST(Faults, GrantsOfLostPacketsComeBack) {
  const auto run = [](std::vector<PacketFault> faults) {
    LeafSpine n(2, 4, 4);
    for (std::uint32_t h = 0; h < 4; ++h) n.add(h, 4 + h, 4'000'000);
    const PacketResult r = n.run(with(PacketTransport::kCredit, PacketBalance::kSpray, std::move(faults)));
    EXPECT_EQ(r.done, 4u);
    return r;
  };
  LeafSpine names(2, 4, 4);
  const PacketResult healthy = run({}),
                     hurt = run({{named(names, "spine0->leaf1"), FaultKind::kDown, 0, SimTime::at(Duration::us(20))}});
  EXPECT_GT(hurt.drops, 0u);
  EXPECT_LE(hurt.timeouts, 4u);
  EXPECT_LT(hurt.end.since_start().in_us(), 1.5 * healthy.end.since_start().in_us() + 100);
}

/// A link of InfiniBand that loses 1 % repeats it in order: a round trip of the link each, and no host learns of it.
TEST(Faults, LinksOfInfinibandRepeatWhatTheyLose) {
  const auto run = [](bool retry, double loss) {
    LeafSpine n(1, 2, 0);
    n.add(0, 1, 2'000'000);
    return run_adjusted(
               n.router, n.list,
               with(PacketTransport::kIb, PacketBalance::kEcmp, {{uplink(n, 0), FaultKind::kLoss, loss, SimTime()}}),
               [&](Profile& p) { p.network.link_retry = retry; })
        .value();
  };
  const PacketResult clean = run(true, 0), repeated = run(true, 0.01), lost = run(false, 0.01);
  EXPECT_GT(lost.drops, 0u);
  EXPECT_EQ(repeated.drops, 0u);
  EXPECT_EQ(repeated.resent, 0u);
  EXPECT_EQ(repeated.timeouts, 0u);
  const double each_us = 2 * 0.5 + 1e-6 * kSlot;
  const double times = (repeated.flows[0].fct - clean.flows[0].fct).in_us() / each_us;
  EXPECT_GE(times, 0.9);  // of 489 packets
  EXPECT_LE(times, 15);
  expect_done_and_whole(repeated);
}

/// Of two spines, one loses its cable to the far leaf. Until switches know, a sprayed flow loses half its packets.
TEST(Faults, TrafficGoesAroundALinkThatIsDownOnceSwitchesKnow) {
  const auto run = [](Duration reroute_after) {
    LeafSpine n(2, 2, 2);
    n.add(0, 2, 4'000'000);
    PacketOptions o = with(PacketTransport::kNscc, PacketBalance::kSpray,
                           {{named(n, "spine0->leaf1"), FaultKind::kDown, 0, SimTime::at(Duration::us(20))}});
    o.reroute_after = reroute_after;
    return n.run(o);
  };
  const PacketResult soon = run(Duration::us(1)), late = run(Duration::us(500));
  EXPECT_EQ(soon.done, 1u);
  EXPECT_EQ(late.done, 1u);
  EXPECT_LT(soon.end.since_start().in_us(), 300);
  EXPECT_GT(late.drops, soon.drops);
  EXPECT_GT(late.end.since_start(), soon.end.since_start());
  expect_done_and_whole(soon);
}

/// A cable that comes back is used again. If it does not, its flow never ends, and the other flows do.
TEST(Faults, FlowsThatCannotEndAreNamedAndTheRestEnds) {
  for (const PacketTransport t : {PacketTransport::kNscc, PacketTransport::kRoce, PacketTransport::kTcpCubic}) {
    LeafSpine n(1, 4, 0);
    n.add(0, 1, 1'000'000);
    n.add(2, 3, 1'000'000);
    PacketFault cut{uplink(n, 0), FaultKind::kDown, 0, SimTime::at(Duration::us(5))};
    const PacketResult r = n.run(with(t, PacketBalance::kEcmp, {cut}));
    EXPECT_EQ(r.done, 1u);
    EXPECT_FALSE(r.flows[0].done);
    EXPECT_TRUE(r.flows[1].done);
    EXPECT_NE(r.stuck.find("1 of 2 flows wait"), std::string::npos) << r.stuck;
    cut.until = SimTime::at(Duration::us(30'000));
    const PacketResult back = n.run(with(t, PacketBalance::kEcmp, {cut}));
    EXPECT_EQ(back.done, 2u);
    EXPECT_GT(back.flows[0].fct.in_us(), 30'000);
    EXPECT_EQ(back.stuck, "");
  }
}

TEST(Faults, AStormNeedsATransportThatObeysPauses) {
  LeafSpine n(1, 2, 0);
  n.add(0, 1, 1000);
  const auto r = run_packet_list(n.router, n.list,
                                 with(PacketTransport::kNscc, PacketBalance::kEcmp,
                                      {{topology::reverse(uplink(n, 1)), FaultKind::kStorm, 0, SimTime()}}));
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace busbar::packet
