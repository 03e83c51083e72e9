// Properties of each transport: closed forms of lossless networks, windows known from other simulators.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "busbar/packet/internal/profile.h"
#include "busbar/packet/internal/test_fabrics.h"
#include "busbar/packet/internal/transport.h"

namespace busbar::packet {
namespace {

constexpr PacketTransport kAll[] = {PacketTransport::kNscc,     PacketTransport::kDcqcn, PacketTransport::kHpcc,
                                    PacketTransport::kRoce,     PacketTransport::kSwift, PacketTransport::kIb,
                                    PacketTransport::kTcpCubic, PacketTransport::kDctcp, PacketTransport::kCredit};

PacketOptions options(PacketTransport t, PacketBalance b = PacketBalance::kEcmp, std::uint64_t seed = 1) {
  return {t, b, seed};
}

TEST(Transports, StandAtTheirNumbersAndHaveNamesOfTheirOwn) {
  ASSERT_EQ(transports().size(), std::size(kAll));
  std::set<std::string> names, keys;
  for (const PacketTransport number : kAll) {
    EXPECT_EQ(transport_of(number).name.transport, number);
    EXPECT_TRUE(names.insert(transport_of(number).name.name).second);
  }
  for (const PacketKnob& knob : packet_knobs()) EXPECT_TRUE(keys.insert(knob.key).second) << knob.key;
}

/// RFC 8257, 3.3 and 3.5: alpha is a share, and a timeout leaves it.
TEST(Transports, AWindowOfDctcpIsCutByAtMostHalfAfterATimeout) {
  ControlSettings s;
  s.law = transport_of(PacketTransport::kDctcp).law;
  s.max_window = 400 * s.packet_bytes;
  Control c;
  begin(c, s, 0, 1'000'000, s.max_window);
  on_timeout(c, s, 500'000'000);
  c.window = 100 * s.packet_bytes;
  AckReport report;
  report.now = 600'000'000;
  report.bytes = report.marked = 10 * s.packet_bytes;
  report.next = report.all_before = 1;
  on_ack(c, s, report);
  EXPECT_LE(c.a, 1);
  EXPECT_GE(c.window, 50 * s.packet_bytes);
}

void add_incast(LeafSpine& n, std::uint32_t senders) {
  for (std::uint32_t k = 0; k < senders; ++k) n.add(16 + 3 * k, 0, 1'000'000);
}

/// A random permutation that is one cycle.
void add_permutation(LeafSpine& n, std::uint32_t hosts, std::uint64_t bytes) {
  RandomStream random(1, "permutation");
  std::vector<std::uint32_t> to(hosts);
  for (std::uint32_t h = 0; h < hosts; ++h) to[h] = h;
  for (std::uint32_t i = hosts - 1; i > 0; --i) std::swap(to[i], to[random.below(i)]);
  for (std::uint32_t h = 0; h < hosts; ++h) n.add(h, to[h], bytes);
}

/// Three hops to the last port, all packets in a row there, and the last latency.
constexpr std::int64_t kIncastPs = 3 * 583'200 + 32 * (244 * 4160 + 640) * 20 + 500'000;

TEST(Transports, LosslessNetworksNeverIdleTheBusyPortOfAnIncast) {
  static_assert(kIncastPs == 652'284'800);
  for (const PacketTransport t : {PacketTransport::kRoce, PacketTransport::kIb}) {
    LeafSpine n(8, 16, 16);
    add_incast(n, 32);
    const PacketResult r = n.run(options(t));
    EXPECT_EQ(r.received.since_start().in_ps(), kIncastPs);
    EXPECT_EQ(r.drops, 0u);
    EXPECT_GT(r.pauses, 0u);
  }
}

TEST(Transports, AllDeliverEverythingAndTheirPartsSumExactly) {
  for (const PacketTransport t : kAll) {
    for (const PacketBalance b : {PacketBalance::kEcmp, PacketBalance::kSpray, PacketBalance::kAdaptive}) {
      LeafSpine n(8, 16, 8);
      add_incast(n, 12);
      for (std::uint32_t h = 0; h < 100; ++h) n.add(h, (h + 28) % 128, 250'000, Duration::ns(100 * h));
      const PacketResult r = n.run(options(t, b));
      std::int64_t last = 0;
      for (const PacketOutcome& f : r.flows) {
        const PacketParts& p = f.parts;
        for (const Duration d :
             {p.serialisation, p.propagation, p.queueing, p.pause, p.held, p.retransmission, p.acknowledgement})
          EXPECT_GE(d, Duration()) << static_cast<int>(t);
        EXPECT_EQ(
            p.serialisation + p.propagation + p.queueing + p.pause + p.held + p.retransmission + p.acknowledgement,
            f.fct);
        last = std::max(last, (f.start + f.fct).since_start().in_ps());
      }
      EXPECT_EQ(last, r.end.since_start().in_ps());
      EXPECT_EQ(r.data - r.resent, 12u * 245 + 100u * 62);
      for (const PacketLink& l : r.links)  // nothing faster than its wire
        EXPECT_LE(static_cast<double>(l.bytes) / 50e9, r.end.since_start().in_s());
    }
  }
}

/// Mean and p99 over 20 seeds are within 10 % and 20 % of ns-3's RDMA model (92.8 and 192.8 us), with its parameters.
TEST(Transports, DcqcnOnSinglePathsAgreesWithNs3) {
  double mean = 0, p99 = 0;
  constexpr int kSeeds = 20;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    LeafSpine n(8, 16, 16);
    add_permutation(n, 128, 2'000'000);
    const PacketResult r = n.run(options(PacketTransport::kDcqcn, PacketBalance::kEcmp, seed));
    std::vector<double> fct;
    for (const PacketOutcome& f : r.flows) fct.push_back(f.fct.in_us());
    std::sort(fct.begin(), fct.end());
    for (const double x : fct) mean += x / 128 / kSeeds;
    p99 += fct[126] / kSeeds;
    EXPECT_EQ(r.drops, 0u);
  }
  EXPECT_NEAR(mean, 92.8, 9.28);
  EXPECT_NEAR(p99, 192.8, 38.6);
}

/// Flows as balls, uplinks as bins: with 16 flows on 16 uplinks an uplink stays empty with probability (15/16)^16.
TEST(Transports, SinglePathsFallIntoUplinksLikeBallsIntoBins) {
  double used = 0;
  constexpr int kSeeds = 40;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    LeafSpine n(8, 16, 16);
    for (std::uint32_t h = 0; h < 128; ++h) n.add(h, (h + 16) % 128, 4096);
    const PacketResult r = n.run(options(PacketTransport::kIb, PacketBalance::kEcmp, seed));
    for (const PacketLink& l : r.links) {
      const std::string name = n.topology.name(l.link);
      if (l.bytes >= 4160 && name.starts_with("leaf") && name.find("spine") != std::string::npos)
        used += 1.0 / 128 / kSeeds;
    }
  }
  EXPECT_NEAR(1 - used, 0.356, 0.02);
}

/// Host 0 sends at 50 GB/s into a port a hundred times slower. The packet that crosses the threshold counts as
/// headroom. The pause frame takes 1.28 ns and 500 ns. Until it arrives the host begins 13 more packets: starts at 83.2
/// k - 583.2 < 501.28 ns.
TEST(Transports, HeadroomIsEnoughToTheByte) {
  topology::TopologyBuilder b;
  const std::uint32_t host = b.add_template(bare_host());
  for (int h = 0; h < 2; ++h) b.add_block(host);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  const topology::DeviceId s = b.add_switch(leaf, "leaf0");
  b.connect(b.device(topology::BlockId{0}, 1), s, cable(50'000'000'000, Duration::ns(500)));
  b.connect(s, b.device(topology::BlockId{1}, 1), cable(500'000'000, Duration::ns(500)));
  const topology::Topology t = std::move(b).seal();
  const routing::Router router(t, topology::RoutingPolicy::kStatic);
  program::FlowList list;
  list.flows.push_back({t.gpus()[0],
                        t.gpus()[1],
                        router.nearest_nic(t.gpus()[0], 0),
                        router.nearest_nic(t.gpus()[1], 0),
                        Bytes{200'000},
                        {},
                        {}});
  list.after.close_row();
  const auto drops = [&](std::int64_t headroom) {
    return run_adjusted(router, list, options(PacketTransport::kRoce),
                        [&](Profile& p) {
                          p.hosts.control.max_window = 1e6;
                          p.network.pause_fixed = 10 * 4160;
                          p.network.headroom_bytes = headroom;
                        })
        .value()
        .drops;
  };
  EXPECT_EQ(drops(14 * 4160), 0u);
  EXPECT_GT(drops(14 * 4160 - 1), 0u);
}

/// A sender with room for C bytes sends C per round trip of its credits: the packet, its path, the credit, its path
/// back.
TEST(Transports, CreditsLimitThroughputToRoomPerRoundTrip) {
  for (const std::int32_t packets : {2, 4, 8, 13, 14, 15, 20}) {
    LeafSpine n(1, 2, 0);
    n.add(0, 1, 8'192'000);
    const auto r = run_adjusted(n.router, n.list, options(PacketTransport::kIb),
                                [&](Profile& p) { p.network.credit_bytes = packets * 4160; });
    const double loop_ns = 2 * 83.2 + 2 * 500 + 0.16;
    const double bytes_per_ns = std::min(50.0, packets * 4160 / loop_ns);
    const double took_ns = r.value().received.since_start().in_us() * 1000;
    EXPECT_NEAR(2000 * 4160 / took_ns, bytes_per_ns, 0.01 * bytes_per_ns) << packets << " packets";
  }
}

/// Five switches in a ring; every host sends to the second switch after its own. Each wire waits for the next.
topology::Topology ring_of_switches(std::uint32_t n) {
  topology::TopologyBuilder b;
  const std::uint32_t host = b.add_template(bare_host());
  for (std::uint32_t h = 0; h < n; ++h) b.add_block(host);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  std::vector<topology::DeviceId> s;
  for (std::uint32_t i = 0; i < n; ++i) s.push_back(b.add_switch(leaf, "leaf" + std::to_string(i)));
  for (std::uint32_t i = 0; i < n; ++i)
    b.connect(b.device(static_cast<topology::BlockId>(i), 1), s[i], cable(50'000'000'000, Duration::ns(500)));
  for (std::uint32_t i = 0; i < n; ++i) b.connect(s[i], s[(i + 1) % n], cable(50'000'000'000, Duration::ns(500)));
  return std::move(b).seal();
}

TEST(Transports, ARingOfPausesIsReportedAsADeadlock) {
  const topology::Topology t = ring_of_switches(5);
  const routing::Router router(t, topology::RoutingPolicy::kStatic);
  program::FlowList list;
  for (std::uint32_t h = 0; h < 5; ++h) {
    const topology::DeviceId a = t.gpus()[h], b = t.gpus()[(h + 2) % 5];
    list.flows.push_back({a, b, router.nearest_nic(a, 0), router.nearest_nic(b, 0), Bytes{50'000'000}, {}, {}});
    list.after.close_row();
  }
  const auto r =
      run_adjusted(router, list, options(PacketTransport::kRoce), [](Profile& p) { p.network.pause_fixed = 20'000; });
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.error().message.find("deadlock"), std::string::npos) << r.error().message;
  EXPECT_NE(r.error().message.find("leaf0->leaf1"), std::string::npos) << r.error().message;
}

/// A pause frame that has not left yet is overtaken by no other, so the last frame counts. Many short pauses at once.
TEST(Transports, PausesThatCrossEachOtherStopNoHost) {
  LeafSpine n(4, 8, 4);
  for (std::uint32_t h = 0; h < 32; ++h)
    for (std::uint32_t k = 1; k < 8; ++k) n.add(h, (h + 4 * k) % 32, 400'000);
  const auto r = run_adjusted(n.router, n.list, options(PacketTransport::kRoce),
                              [](Profile& p) { p.network.pause_fixed = 3 * 4160; });
  ASSERT_TRUE(r.ok()) << r.error().message;
  EXPECT_GT(r.value().pauses, 100u);
  EXPECT_EQ(r.value().timeouts, 0u);
}

/// The receiver paces its senders: an incast ends within half a percent of the ideal time.
TEST(Transports, CreditsFromTheReceiverFillItsWireAndNoMore) {
  LeafSpine n(8, 16, 16);
  add_incast(n, 32);
  const PacketResult r = n.run(options(PacketTransport::kCredit, PacketBalance::kSpray));
  EXPECT_GE(r.received.since_start().in_ps(), kIncastPs);
  EXPECT_LE(static_cast<double>(r.received.since_start().in_ps()), 1.005 * kIncastPs);
  EXPECT_EQ(r.timeouts, 0u);
}

/// Fixed numbers: all compilers, build types and machines must give the same.
TEST(Transports, DigestsAreTheSameEverywhere) {
  LeafSpine n(8, 16, 16);
  add_permutation(n, 128, 300'000);
  add_incast(n, 9);
  const std::map<PacketTransport, std::uint64_t> expected = {
      {PacketTransport::kNscc, 3570987987564823918u},     {PacketTransport::kDcqcn, 67725332607230693u},
      {PacketTransport::kHpcc, 16756730567202492108u},    {PacketTransport::kRoce, 5131956796519866342u},
      {PacketTransport::kSwift, 15417356146098181053u},   {PacketTransport::kIb, 2311557702227311390u},
      {PacketTransport::kTcpCubic, 2973700232648386109u}, {PacketTransport::kDctcp, 13888643629221851806u}};
  for (const auto& [transport, digest] : expected)
    EXPECT_EQ(n.run(options(transport)).digest, digest) << static_cast<int>(transport);
  PacketOptions other = options(PacketTransport::kDcqcn, PacketBalance::kFlowlet);
  other.cut_through = true;
  EXPECT_EQ(n.run(other).digest, 9585189932800541933u);
  EXPECT_EQ(n.run(options(PacketTransport::kCredit, PacketBalance::kSpray)).digest, 6515638207105818232u);
}

}  // namespace
}  // namespace busbar::packet
