// Reduction in the network packet by packet, compared with its byte counts and the flow engine.
#include "busbar/packet/internal/reduction_flows.h"

#include <gtest/gtest.h>

#include "busbar/engine/engine.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/test_machines.h"
#include "busbar/packet/collective_flows.h"

namespace busbar::packet {
namespace {

struct ReducingMachine {
  topology::Topology topology;
  routing::Router router;
  routing::Placement placement;
  explicit ReducingMachine(topology::TopologyBuilder b)
      : topology(std::move(b).seal()),
        router(topology, topology::RoutingPolicy::kSpray),
        placement(router, topology.gpus()) {}

  double fluid_us(program::CollectiveCall call) const {
    call.chunks = 32;
    const auto e = engine::make_flow_engine(router, placement, {});
    return e->time_alone(e->prepare(call).value()).in_us();
  }
  PacketResult run(const program::CollectiveCall& call, const PacketOptions& options) const {
    program::FlowList list;
    const Status s = add_collective_flows(call, router, placement, {}, list);
    EXPECT_TRUE(s.ok()) << (s.ok() ? "" : s.error().message);
    const auto r = run_packet_list(router, list, options);
    EXPECT_TRUE(r.ok()) << (r.ok() ? "" : r.error().message);
    return r.ok() ? *r : PacketResult{};
  }
};

topology::DeviceClass adds() {
  topology::DeviceClass d;
  d.reduces = true;
  return d;
}

const PacketOptions kCredits{PacketTransport::kIb, PacketBalance::kEcmp, 1};
constexpr std::uint64_t kMiB = 1 << 20;

/// Each payload once in and once out at the same time: S / 50 GB/s, headers of 64 in 4,096 bytes, segments of a 32nd.
TEST(ReductionFlows, OneSwitchTakesEachPayloadOnceInAndOnceOut) {
  const ReducingMachine m(lowering::single_gpu_nodes(8, 1, adds()));
  const double floor_us = 64.0 * kMiB / 50e9 * 1e6;
  const double us = m.run(lowering::test_call(8, "sharp", 64 * kMiB), kCredits).received.since_start().in_us();
  EXPECT_GT(us, floor_us * 4160 / 4096);
  EXPECT_LT(us, 1.1 * floor_us);
  EXPECT_NEAR(us, m.fluid_us(lowering::test_call(8, "sharp", 64 * kMiB)), 0.1 * us);
}

TEST(ReductionFlows, ALinkBetweenSwitchesCarriesOneSumEachWay) {
  const ReducingMachine m(lowering::leaf_spine(4, 2, true));
  const PacketResult r = m.run(lowering::test_call(16, "sharp", 8 * kMiB), kCredits);
  double up = 0, down = 0;
  for (const PacketLink& l : r.links) {
    const topology::DeviceKind a = m.topology.kind(m.topology.from(l.link)), b = m.topology.kind(m.topology.to(l.link));
    if (a == topology::DeviceKind::kLeaf && b == topology::DeviceKind::kSpine) up += static_cast<double>(l.bytes);
    if (a == topology::DeviceKind::kSpine && b == topology::DeviceKind::kLeaf) down += static_cast<double>(l.bytes);
  }
  const double sums = 4 * 8.0 * kMiB * 4160 / 4096;  // plus one acknowledgement per four packets, and credits
  EXPECT_GE(up, sums);
  EXPECT_GE(down, sums);
  EXPECT_LE(up, 1.02 * sums);
  EXPECT_LE(down, 1.02 * sums);
}

/// Servers that add inside send their share up the tree of each NIC.
TEST(ReductionFlows, AgreesWithFluidsWithinAFifthForNvlsAndSharp) {
  const ReducingMachine m(lowering::pods_of_eight(4, true));
  for (const char* algorithm : {"nvls", "sharp"}) {
    for (const PacketTransport t : {PacketTransport::kIb, PacketTransport::kNscc}) {
      const program::CollectiveCall call = lowering::test_call(32, algorithm, 64 * kMiB);
      const PacketResult r = m.run(call, {t, PacketBalance::kEcmp, 1});
      const double us = r.received.since_start().in_us(), fluid_us = m.fluid_us(call);
      EXPECT_GT(us, 0.9 * fluid_us) << algorithm << static_cast<int>(t);
      EXPECT_LT(us, 1.2 * fluid_us) << algorithm << static_cast<int>(t);
      EXPECT_EQ(r.done, r.flows.size());
    }
  }
}

TEST(ReductionFlows, AnyNumberOfThreadsGivesTheSameResult) {
  const ReducingMachine m(lowering::leaf_spine(4, 2, true));
  PacketOptions o = kCredits;
  const std::uint64_t one = m.run(lowering::test_call(16, "sharp", kMiB), o).digest;
  o.threads = 4;
  EXPECT_EQ(m.run(lowering::test_call(16, "sharp", kMiB), o).digest, one);
}

TEST(ReductionFlows, ReduceEndsAtItsRoot) {
  const ReducingMachine m(lowering::leaf_spine(4, 2, true));
  program::CollectiveCall call = lowering::test_call(16, "sharp", kMiB);
  call.op = collectives::Collective::kReduce;
  call.root = 5;
  const PacketResult r = m.run(call, kCredits);
  EXPECT_EQ(r.done, r.flows.size());
  for (const PacketLink& l : r.links)
    if (m.topology.kind(m.topology.from(l.link)) == topology::DeviceKind::kLeaf &&
        m.topology.kind(m.topology.to(l.link)) == topology::DeviceKind::kNic &&
        m.topology.to(l.link) != m.placement.nic(5, 0))
      EXPECT_LT(l.bytes, kMiB / 10) << m.topology.name(l.link);
}

TEST(ReductionFlows, NeedSwitchesThatAdd) {
  const ReducingMachine m(lowering::leaf_spine(4, 2, false));
  program::FlowList list;
  const Status s = add_collective_flows(lowering::test_call(16, "sharp", kMiB), m.router, m.placement, {}, list);
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.error().message.find("can reduce"), std::string::npos) << s.error().message;
}

/// A flow of others crosses the ports by which switches send sums. Both end, and what they carry does not change.
TEST(ReductionFlows, SharePortsWithFlowsOfOthers) {
  const ReducingMachine m(lowering::leaf_spine(2, 1, true));
  program::FlowList list;
  ASSERT_TRUE(add_collective_flows(lowering::test_call(8, "sharp", kMiB), m.router, m.placement, {}, list).ok());
  const topology::DeviceId a = m.topology.gpus()[0], b = m.topology.gpus()[7];
  list.flows.push_back({a, b, m.router.nearest_nic(a, 0), m.router.nearest_nic(b, 0), Bytes{kMiB}, {}, {}});
  list.after.close_row();
  for (const PacketTransport t : {PacketTransport::kIb, PacketTransport::kNscc, PacketTransport::kDcqcn}) {
    const auto with = run_packet_list(m.router, list, {t, PacketBalance::kSpray, 1});
    ASSERT_TRUE(with.ok()) << with.error().message;
    EXPECT_EQ(with->done, list.flows.size());
    const PacketResult alone = m.run(lowering::test_call(8, "sharp", kMiB), {t, PacketBalance::kSpray, 1});
    EXPECT_GT(with->received, alone.received);
    EXPECT_LT(with->received.since_start(), alone.received.since_start() + with->flows.back().received);
  }
}

}  // namespace
}  // namespace busbar::packet
