// Adaptive routing that splits traffic again as transfers begin and end. Four leaves with one node of one NIC each, two
// spines; leaf2 is cabled only to spine0, leaf3 only to spine1: traffic to leaf1 has to yield. Links carry 50 GB/s.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "busbar/base/random.h"
#include "busbar/engine/flow/flow_list_run.h"
#include "busbar/engine/flow/internal/flow_engine.h"
#include "busbar/engine/flow/message_run.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::engine {
namespace {

topology::Topology one_sided_leaves() {
  topology::TopologyBuilder b = lowering::leaf_spine(4, 2);
  for (std::uint32_t l = 0; l < b.peek().link_count(); l += 2) {
    const std::string name = b.peek().name(topology::LinkId{l});
    if (name == "leaf2->spine1" || name == "leaf3->spine0") b.fail(topology::LinkId{l});
  }
  return std::move(b).seal();
}

struct LeafSpineGround {
  topology::Topology topology = one_sided_leaves();
  routing::Router router;
  routing::Placement placement;
  explicit LeafSpineGround(topology::RoutingPolicy policy = topology::RoutingPolicy::kAdaptive)
      : router(topology, policy), placement(router, topology.gpus()) {}
  program::ListedFlow flow(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, Duration start = {}) const {
    return {placement.gpu(from),  placement.gpu(to), placement.nic(from, 0),
            placement.nic(to, 0), Bytes{bytes},      SimTime::at(start)};
  }
};

FlowListResult run(const LeafSpineGround& g, std::vector<program::ListedFlow> flows) {
  program::FlowList list;
  list.flows = std::move(flows);
  for (std::size_t f = 0; f < list.flows.size(); ++f) list.after.close_row();
  return run_flow_list(g.router, list).value();
}

constexpr std::uint64_t kGb = 1'000'000'000;  // 20 ms

double end_ms(const FlowOutcome& f) { return (f.start + f.fct).since_start().in_us() / 1e3; }

// To leaf1 for 40 ms; at the same time to leaf2 (spine0) for 20 ms and then to leaf3 (spine1) for 20 ms. No constant
// split is best for all three; with a new split at each start and end every NIC sends at its full rate.
TEST(Resplit, AFlowGivesWayFirstToTheOneSideAndThenToTheOther) {
  const auto ends = [](topology::RoutingPolicy policy) {
    const LeafSpineGround g(policy);
    std::vector<double> out;
    const FlowListResult r =
        run(g, {g.flow(0, 4, 2 * kGb), g.flow(1, 8, kGb), g.flow(2, 12, kGb, Duration::us(20'010))});
    for (const FlowOutcome& f : r.flows) out.push_back(end_ms(f));
    return out;
  };
  const std::vector<double> adaptive = ends(topology::RoutingPolicy::kAdaptive),
                            halves = ends(topology::RoutingPolicy::kSpray);
  EXPECT_NEAR(adaptive[0], 40, 0.4);
  EXPECT_NEAR(adaptive[1], 20, 0.2);
  EXPECT_NEAR(adaptive[2], 40, 0.2);
  EXPECT_NEAR(halves[1], 30, 0.2);  // three halves on one cable
}

// Three that can go one way only share it; who can avoid them does not feel them.
TEST(Resplit, AFlowLeavesAWayAltogether) {
  const LeafSpineGround g;
  const FlowListResult r = run(g, {g.flow(0, 4, kGb), g.flow(1, 8, kGb), g.flow(2, 9, kGb), g.flow(3, 10, kGb)});
  EXPECT_NEAR(end_ms(r.flows[0]), 20, 0.2);
  for (int f = 1; f < 4; ++f) EXPECT_NEAR(end_ms(r.flows[f]), 60, 0.6);
}

TEST(Resplit, AllBytesOfAListCrossEveryTier) {
  const LeafSpineGround g;
  RandomStream random(5, "resplit");
  std::vector<program::ListedFlow> flows;
  double up = 0;
  for (int f = 0; f < 60; ++f) {
    const auto from = static_cast<std::uint32_t>(random.below(16));
    const auto to = static_cast<std::uint32_t>((from + 4 + random.below(8)) % 16);
    const std::uint64_t bytes = 1 + random.below(100'000'000);
    flows.push_back(g.flow(from, to, bytes, Duration::us(static_cast<std::int64_t>(random.below(5000)))));
    const bool roundabout = from / 8 == 1 && to / 8 == 1;  // leaf2 and leaf3 have no spine in common
    if (from / 4 != to / 4) up += static_cast<double>(bytes) * (roundabout ? 2 : 1);
  }
  const FlowListResult r = run(g, flows);
  double crossed = 0;
  for (const LinkUse& u : r.links) {
    const topology::Topology& t = g.topology;
    if (t.kind(t.from(u.link)) == topology::DeviceKind::kLeaf && t.kind(t.to(u.link)) == topology::DeviceKind::kSpine)
      crossed += u.bytes;
    EXPECT_LE(u.bytes / t.payload_rate(u.link), r.end.since_start().in_s() * (1 + 1e-9)) << t.name(u.link);
  }
  EXPECT_NEAR(crossed, up, 1e-6 * up);
}

std::map<std::uint64_t, double> ends_ms(Engine& engine) {
  std::map<std::uint64_t, double> out;
  while (const auto done = engine.advance(SimTime::at(Duration::us(1'000'000))))
    out[done->tag] = done->at.since_start().in_us() / 1e3;
  return out;
}

TEST(Resplit, CallsGiveWayToEachOtherAsTheyComeAndGo) {
  const LeafSpineGround g;
  const auto engine = make_flow_engine(g.router, g.placement, {});
  const program::CallId x = engine->prepare(lowering::pair_transfer(0, 4, 2 * kGb)).value(),
                        y = engine->prepare(lowering::pair_transfer(1, 8, kGb)).value(),
                        z = engine->prepare(lowering::pair_transfer(2, 12, kGb)).value();
  engine->start(x, 1, SimTime());
  engine->start(y, 2, SimTime());
  ASSERT_FALSE(engine->advance(SimTime::at(Duration::us(20'010))).value().tag == 1);
  engine->start(z, 3, SimTime::at(Duration::us(20'010)));
  const auto ends = ends_ms(*engine);
  EXPECT_NEAR(ends.at(1), 40, 0.5);
  EXPECT_NEAR(ends.at(3), 40, 0.3);
  double crossed = 0;
  const std::vector<double> bytes = engine->link_bytes();
  for (std::uint32_t l = 0; l < bytes.size(); ++l)
    if (g.topology.name(topology::LinkId{l}).rfind("leaf0->spine", 0) == 0) crossed += bytes[l];
  EXPECT_NEAR(crossed, 4.0 * kGb, 1e-6 * kGb);
}

/// y can leave leaf0 over spine0 alone, so x takes spine1 with all its bytes instead of half on each.
TEST(Resplit, BytesAreCountedOnTheLinksOfTheSplit) {
  const LeafSpineGround g;
  const auto engine = make_flow_engine(g.router, g.placement, {});
  const program::CallId x = engine->prepare(lowering::pair_transfer(0, 4, 2 * kGb)).value(),
                        y = engine->prepare(lowering::pair_transfer(1, 8, kGb)).value();
  engine->start(x, 1, SimTime());
  engine->start(y, 2, SimTime());
  ends_ms(*engine);
  const std::vector<double> bytes = engine->link_bytes();
  std::map<std::string, double> by_name;
  for (std::uint32_t l = 0; l < bytes.size(); ++l) by_name[g.topology.name(topology::LinkId{l})] = bytes[l];
  EXPECT_NEAR(by_name.at("leaf0->spine0"), 1.0 * kGb, 0.01 * kGb);
  EXPECT_NEAR(by_name.at("leaf0->spine1"), 2.0 * kGb, 0.01 * kGb);
}

// From leaf2 to leaf3 the way goes up, down to a third leaf and up again.
TEST(Resplit, CallsThatGoRoundaboutAreAlike) {
  for (const topology::RoutingPolicy policy : {topology::RoutingPolicy::kSpray, topology::RoutingPolicy::kAdaptive}) {
    const LeafSpineGround g(policy);
    const auto engine = make_flow_engine(g.router, g.placement, {});
    const program::CallId a = engine->prepare(lowering::pair_transfer(8, 12, kGb)).value(),
                          b = engine->prepare(lowering::pair_transfer(9, 13, kGb)).value();
    EXPECT_EQ(engine->time_alone(a), engine->time_alone(b));
    EXPECT_NEAR(engine->time_alone(a).in_us() / 1e3, 20, 0.1);
  }
}

// The first at its own pace, then next to the others: however calls meet, none is faster than alone and what they move
// together stays below what cables carry.
TEST(Resplit, NoCallIsFasterThanAloneNorSlowerThanUnderEqualSplits) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    double last[2] = {0, 0};
    for (const bool adaptive : {false, true}) {
      const LeafSpineGround g(adaptive ? topology::RoutingPolicy::kAdaptive : topology::RoutingPolicy::kSpray);
      const auto engine = make_flow_engine(g.router, g.placement, {});
      RandomStream random(seed, "calls");
      std::map<std::uint64_t, double> start, alone;
      for (std::uint64_t c = 0; c < 6; ++c) {
        const auto a = static_cast<std::uint32_t>(random.below(16));
        const auto b = static_cast<std::uint32_t>((a + 1 + random.below(15)) % 16);
        const program::CallId id = engine->prepare(lowering::pair_transfer(a, b, kGb)).value();
        start[c] = static_cast<double>(random.below(30));
        alone[c] = engine->time_alone(id).in_us() / 1e3;
        engine->start(id, c, SimTime::at(Duration::us(static_cast<std::int64_t>(start[c] * 1000))));
      }
      for (const auto& [tag, at] : ends_ms(*engine)) {
        EXPECT_GE(at - start[tag], alone[tag] * (1 - 1e-6));
        last[adaptive] = std::max(last[adaptive], at);
      }
    }
    EXPECT_LE(last[1], last[0] * 1.001) << "seed " << seed;
  }
}

}  // namespace
}  // namespace busbar::engine
