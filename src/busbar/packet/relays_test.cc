// GPUs that forward traffic of others by the links on which they send their own.
#include <gtest/gtest.h>

#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

/// Three GPUs in a row. Only the middle one joins the two others.
struct RowOfGpus {
  topology::Topology topology;
  routing::Router router;
  program::FlowList list;

  RowOfGpus() : topology(build()), router(topology, topology::RoutingPolicy::kStatic) {}
  void add(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, Duration start = {}) {
    const topology::DeviceId none = kNone<topology::DeviceId>;
    list.flows.push_back(
        {topology.gpus()[from], topology.gpus()[to], none, none, Bytes{bytes}, SimTime::at(start), {}});
    list.after.close_row();
  }
  PacketResult run(PacketTransport t, std::uint32_t threads = 1) const {
    PacketOptions o{t, PacketBalance::kEcmp, 1};
    o.threads = threads;
    const auto r = run_packet_list(router, list, o);
    EXPECT_TRUE(r.ok()) << (r.ok() ? "" : r.error().message);
    return r.ok() ? *r : PacketResult{};
  }
  static topology::Topology build() {
    topology::TopologyBuilder b;
    topology::NodeTemplate node;
    node.name = "node";
    for (int g = 0; g < 3; ++g) node.devices.push_back({topology::DeviceClass{}, "gpu" + std::to_string(g)});
    topology::LinkClass link = cable(50'000'000'000, Duration::ns(500));
    link.kind = topology::LinkKind::kNvlink;
    node.links = {{0, 1, link}, {1, 2, link}};
    b.add_block(b.add_template(std::move(node)));
    return std::move(b).seal();
  }
};

constexpr std::uint64_t kFlow = 1000 * 4096;  // payload
constexpr PacketTransport kRelayed[] = {PacketTransport::kIb,    PacketTransport::kRoce,  PacketTransport::kDcqcn,
                                        PacketTransport::kNscc,  PacketTransport::kHpcc,  PacketTransport::kSwift,
                                        PacketTransport::kDctcp, PacketTransport::kCredit};

/// The relay's own packets leave as they would without the joint between it and its port, but for one header.
TEST(Relays, AnOwnFlowOfTheRelayKeepsItsTime) {
  for (const PacketTransport t : {PacketTransport::kIb, PacketTransport::kRoce, PacketTransport::kNscc}) {
    RowOfGpus n;
    n.add(1, 2, kFlow);
    n.add(0, 2, 4096, Duration::us(1000));
    const PacketResult r = n.run(t);
    EXPECT_EQ(r.flows[0].received.in_ps(), 1000 * kSlot + 500'000 + 64 * 20);
    EXPECT_EQ(r.flows[1].received.in_ps(), 2 * kSlot + 1'000'000);
  }
}

/// Own and foreign packets share the link to the last GPU. It never idles, and no one starves.
TEST(Relays, OwnAndForeignPacketsShareALink) {
  for (const PacketTransport t : kRelayed) {
    RowOfGpus n;
    n.add(1, 2, kFlow);
    n.add(0, 2, kFlow);
    const PacketResult r = n.run(t);
    EXPECT_EQ(r.done, 2u);
    EXPECT_EQ(r.links.size(), 4u);  // no joint among them
    const auto last = static_cast<double>(r.received.since_start().in_ps());
    EXPECT_GE(last, 2000.0 * kSlot + 500'000);
    EXPECT_LE(last, 1.35 * 2000 * kSlot) << static_cast<int>(t);
    for (const PacketOutcome& f : r.flows)
      EXPECT_GE(static_cast<double>(f.received.in_ps()), 1.2 * 1000 * kSlot) << static_cast<int>(t);
    if (t == PacketTransport::kIb || t == PacketTransport::kRoce) EXPECT_EQ(r.drops + r.resent, 0u);
    EXPECT_EQ(n.run(t, 3).digest, r.digest);
  }
}

}  // namespace
}  // namespace busbar::packet
