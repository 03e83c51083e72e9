// Cut-through to the picosecond, and flows that change their path in their pauses.
#include <gtest/gtest.h>

#include "busbar/packet/internal/profile.h"
#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

PacketOptions cut(PacketTransport t, PacketBalance b = PacketBalance::kEcmp) {
  PacketOptions o{t, b, 1};
  o.cut_through = true;
  return o;
}

/// All packets in a row at the first cable, then the header of the last one at each hop, and one acknowledgement back,
/// which is only a header. 50 GB/s, 500 ns.
std::int64_t cut_through_ps(std::uint64_t bytes, std::int64_t hops) {
  const auto full = static_cast<std::int64_t>((bytes - 1) / 4096);
  const std::int64_t last = static_cast<std::int64_t>(bytes) - full * 4096 + 64;
  return 20 * (full * 4160 + last + (hops - 1) * 64 + hops * 64) + 2 * hops * 500'000;
}

TEST(CutThrough, OneFlowTakesItsClosedFormToThePicosecond) {
  for (const PacketTransport t : {PacketTransport::kNscc, PacketTransport::kRoce, PacketTransport::kDcqcn}) {
    for (const std::uint64_t bytes : {2'000'000u, 1u, 4096u, 4097u, 100'000u}) {
      LeafSpine n(8, 16, 16);
      n.add(0, 127, bytes);
      EXPECT_EQ(n.run(cut(t)).flows[0].fct.in_ps(), cut_through_ps(bytes, 4)) << bytes;
      LeafSpine near(2, 16, 1);
      near.add(3, 7, bytes);
      EXPECT_EQ(near.run(cut(t)).flows[0].fct.in_ps(), cut_through_ps(bytes, 2)) << bytes;
    }
  }
  EXPECT_EQ(cut_through_ps(2'000'000, 4), 44'634'880);
}

/// From 25 to 50 GB/s a packet must arrive in full before it goes on; on the way back it need not.
TEST(CutThrough, AFasterWayOutWaitsForTheTail) {
  topology::TopologyBuilder b;
  const std::uint32_t host = b.add_template(bare_host());
  for (int h = 0; h < 2; ++h) b.add_block(host);
  topology::DeviceClass leaf;
  leaf.kind = topology::DeviceKind::kLeaf;
  const topology::DeviceId s = b.add_switch(leaf, "leaf0");
  b.connect(b.device(topology::BlockId{0}, 1), s, cable(25'000'000'000, Duration::ns(500)));
  b.connect(s, b.device(topology::BlockId{1}, 1), cable(50'000'000'000, Duration::ns(500)));
  const topology::Topology t = std::move(b).seal();
  const routing::Router router(t, topology::RoutingPolicy::kStatic);
  const auto received = [&](int from, int to) {
    program::FlowList list;
    const topology::DeviceId x = t.gpus()[static_cast<std::size_t>(from)], y = t.gpus()[static_cast<std::size_t>(to)];
    list.flows.push_back({x, y, router.nearest_nic(x, 0), router.nearest_nic(y, 0), Bytes{4096}, {}, {}});
    list.after.close_row();
    return run_packet_list(router, list, cut(PacketTransport::kNscc)).value().flows[0].received.in_ps();
  };
  EXPECT_EQ(received(0, 1), 4160 * 40 + 500'000 + 4160 * 20 + 500'000);
  EXPECT_EQ(received(1, 0), 64 * 20 + 500'000 + 4160 * 40 + 500'000);
}

/// Short cables: the header arrives long before the tail has left, and the port may not send the next packet yet.
TEST(CutThrough, ABusyPortNeverIdlesForAnyCable) {
  for (const std::int64_t ns : {0, 1, 50, 500}) {
    for (const PacketTransport t : {PacketTransport::kRoce, PacketTransport::kIb, PacketTransport::kCredit}) {
      LeafSpine n(2, 8, 4, cable(50'000'000'000, Duration::ns(ns)));
      for (std::uint32_t h = 1; h < 16; ++h) n.add(h, 0, 400'000);
      const bool lossy = t == PacketTransport::kCredit;
      const PacketResult r = n.run(cut(t, lossy ? PacketBalance::kSpray : PacketBalance::kEcmp));
      const std::int64_t row = 15 * (97 * 4160 + 2752) * 20;
      EXPECT_GE(r.received.since_start().in_ps(), row + 64 * 20 + 2 * ns * 1000);
      if (lossy && ns < 50) continue;  // a first window of few packets leaves gaps
      EXPECT_LE(static_cast<double>(r.received.since_start().in_ps()),
                1.05 * (static_cast<double>(row) + 64 * 20 + 2'000.0 * static_cast<double>(ns)))
          << ns;
      if (t == PacketTransport::kRoce) EXPECT_EQ(r.received.since_start().in_ps(), row + 64 * 20 + 2 * ns * 1000);
      for (const PacketOutcome& f : r.flows) {
        const PacketParts& p = f.parts;
        EXPECT_GE(p.queueing, Duration());
        EXPECT_EQ(
            p.serialisation + p.propagation + p.queueing + p.pause + p.held + p.retransmission + p.acknowledgement,
            f.fct);
      }
    }
  }
}

/// Links that carried data.
std::size_t busy_links(const PacketResult& r) {
  std::size_t n = 0;
  for (const PacketLink& l : r.links) n += l.bytes > 100'000 ? 1 : 0;
  return n;
}

/// A gap that no flow reaches keeps one path per flow, so nothing is overtaken. With a gap of a picosecond every packet
/// may go to the shorter queue, and all cables are used.
TEST(Flowlets, FlowsStayWhileTheySendAndMoveWhenTheyPause) {
  const auto run = [](PacketBalance b, Duration gap) {
    LeafSpine n(2, 16, 16);
    for (std::uint32_t h = 0; h < 16; ++h) n.add(h, 16 + h, 4'000'000);
    PacketOptions o{PacketTransport::kDcqcn, b, 5};
    o.flowlet_gap = gap;
    return n.run(o);
  };
  const PacketResult hashed = run(PacketBalance::kEcmp, {});
  const PacketResult stay = run(PacketBalance::kFlowlet, Duration::us(10'000));
  const PacketResult move = run(PacketBalance::kFlowlet, Duration::ps(1));
  EXPECT_EQ(stay.resent, 0u);
  EXPECT_EQ(hashed.resent, 0u);
  EXPECT_EQ(move.done, 16u);
  EXPECT_EQ(busy_links(move), 16u * 4);
  EXPECT_LT(busy_links(hashed), 16u * 4);
  EXPECT_LT(busy_links(stay), 16u * 4);
}

}  // namespace
}  // namespace busbar::packet
