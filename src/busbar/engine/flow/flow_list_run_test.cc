#include "busbar/engine/flow/flow_list_run.h"

#include <gtest/gtest.h>

#include <cmath>

#include "busbar/base/random.h"
#include "busbar/lowering/test_machines.h"
#include "busbar/solve/max_min.h"

namespace busbar::engine {
namespace {

/// GPUs on one switch, 450 GB/s and 0.5 us per link.
struct Lists {
  topology::Topology topology;
  routing::Router router;
  program::FlowList list;
  explicit Lists(std::uint32_t gpus)
      : topology(lowering::one_switch(gpus).seal()), router(topology, topology::RoutingPolicy::kStatic) {}
  void add(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, Duration start = {},
           std::vector<std::uint32_t> after = {}, program::FlowTrigger trigger = program::FlowTrigger::kReceived) {
    const topology::DeviceId a = topology.gpus()[from], b = topology.gpus()[to];
    list.flows.push_back({a, b, a, b, Bytes{bytes}, SimTime::at(start), trigger});
    for (const std::uint32_t f : after) list.after.values.push_back(f);
    list.after.close_row();
  }
  FlowListResult run() const { return run_flow_list(router, list).value(); }
};
double end_us(const FlowOutcome& f) { return (f.start + f.fct).since_start().in_us(); }

TEST(FlowList, AFlowAloneTakesLatencyAndBytesOverRate) {
  Lists l(2);
  l.add(0, 1, 450'000'000, Duration::us(7));  // 1 ms
  const FlowOutcome f = l.run().flows[0];
  EXPECT_EQ(f.start, SimTime::at(Duration::us(7)));
  EXPECT_EQ(f.latency, Duration::us(1));
  EXPECT_EQ(f.transfer, Duration::us(1000));
  EXPECT_EQ(f.sharing, Duration());
  EXPECT_EQ(f.fct, Duration::us(1001));
}

// Two into GPU 2 share 450 GB/s; the short one (1 ms alone) ends at 2 ms, the long one (3 ms alone) at 4 ms.
TEST(FlowList, AFlowThatEndsFreesItsShare) {
  Lists l(3);
  l.add(0, 2, 450'000'000);
  l.add(1, 2, 1'350'000'000);
  const FlowListResult r = l.run();
  EXPECT_NEAR(end_us(r.flows[0]), 2001, 1e-5);
  EXPECT_NEAR(end_us(r.flows[1]), 4001, 1e-5);
  EXPECT_NEAR(r.flows[1].sharing.in_us(), 1000, 1e-5);
}

TEST(FlowList, AfterWaitsForTheLastByteOrForItsAcknowledgement) {
  Lists l(4);
  l.add(0, 1, 450'000'000);
  l.add(1, 2, 450'000'000, {}, {0});
  l.add(2, 3, 450'000'000, {}, {0}, program::FlowTrigger::kAcked);
  l.add(3, 0, 0, Duration::us(5000), {1, 2});
  const FlowListResult r = l.run();
  EXPECT_EQ(r.flows[1].start.since_start(), Duration::us(1001));
  EXPECT_EQ(r.flows[2].start.since_start(), Duration::us(1002));
  EXPECT_EQ(r.flows[3].start.since_start(), Duration::us(5000));
  EXPECT_EQ(r.flows[3].fct, Duration::us(1));  // no byte: latency alone
}

/// The same list by the solver that forgets everything at each event.
std::vector<double> ends_by_solving_afresh(const Lists& l) {
  const std::size_t n = l.list.flows.size();
  std::vector<double> left, end(n, 0.0);
  for (const program::ListedFlow& f : l.list.flows) left.push_back(static_cast<double>(count(f.bytes)));
  double now = 0;
  const auto start_of = [&](std::size_t f) { return static_cast<double>(l.list.flows[f].start.since_start().in_ps()); };
  for (std::size_t done = 0; done < n;) {
    solve::MaxMinSolver solver;
    std::vector<std::size_t> open;
    double step = INFINITY;
    for (std::size_t f = 0; f < n; ++f) {
      if (left[f] <= 0) continue;
      if (start_of(f) > now) {
        step = std::min(step, start_of(f) - now);
        continue;
      }
      std::vector<routing::LinkShare> path;
      const program::ListedFlow& x = l.list.flows[f];
      EXPECT_TRUE(l.router.spread(x.from, x.to, x.nic_from, x.nic_to, f, path).ok());
      std::vector<std::uint32_t> links;
      for (const routing::LinkShare& s : path) links.push_back(index(s.link));
      solver.add_fluid(links, std::vector<double>(links.size(), 1.0), INFINITY);
      open.push_back(f);
    }
    std::vector<double> capacity;
    for (std::uint32_t k = 0; k < l.topology.link_count(); ++k)
      capacity.push_back(l.topology.payload_rate(static_cast<topology::LinkId>(k)) * 1e-12);
    solver.solve(capacity);
    for (std::size_t i = 0; i < open.size(); ++i) step = std::min(step, left[open[i]] / solver.rates()[i]);
    now += step;
    for (std::size_t i = 0; i < open.size(); ++i) {
      left[open[i]] -= solver.rates()[i] * step;
      if (left[open[i]] > 1e-3) continue;  // bytes
      left[open[i]] = 0;
      end[open[i]] = now;
      ++done;
    }
  }
  return end;
}

TEST(FlowList, EndsAsWhenEveryEventIsSolvedAfresh) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    RandomStream random(seed, "list");
    Lists l(8);
    for (int f = 0; f < 40; ++f) {
      const auto from = static_cast<std::uint32_t>(random.below(8));
      l.add(from, (from + 1 + static_cast<std::uint32_t>(random.below(7))) % 8, 1'000'000 + random.below(1'000'000'000),
            Duration::us(static_cast<std::int64_t>(random.below(3000))));
    }
    const FlowListResult r = l.run();
    const std::vector<double> expected = ends_by_solving_afresh(l);
    for (std::size_t f = 0; f < expected.size(); ++f)
      EXPECT_NEAR(end_us(r.flows[f]) - 1, expected[f] * 1e-6, 1e-3) << "seed " << seed << " flow " << f;  // 1 ns of ms
  }
}

TEST(FlowList, PartsSumToTheTimeAndNoLinkCarriesMoreThanItCan) {
  RandomStream random(3, "sums");
  Lists l(16);
  for (int f = 0; f < 300; ++f) {
    const auto from = static_cast<std::uint32_t>(random.below(16));
    l.add(from, (from + 1 + static_cast<std::uint32_t>(random.below(15))) % 16, random.below(100'000'000));
  }
  const FlowListResult r = l.run();
  for (const FlowOutcome& f : r.flows) EXPECT_EQ(f.latency + f.transfer + f.sharing, f.fct);
  for (const LinkUse& u : r.links)
    EXPECT_LE(u.bytes / l.topology.payload_rate(u.link), r.end.since_start().in_s() * (1 + 1e-9));
}

/// Flows of 1 GB between nodes of one GPU and one NIC of 50 GB/s, without latency.
double end_ms(const topology::Topology& t, topology::RoutingPolicy policy,
              const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) {
  const routing::Router router(t, policy);
  program::FlowList list;
  for (const auto& [from, to] : pairs) {
    const topology::DeviceId a = t.gpus()[from], b = t.gpus()[to];
    list.flows.push_back({a, b, router.nearest_nic(a, 0), router.nearest_nic(b, 0), Bytes{1'000'000'000}, {}});
    list.after.close_row();
  }
  return run_flow_list(router, list)->end.since_start().in_us() / 1e3;
}

/// Each node sends to the one `step` further on.
std::vector<std::pair<std::uint32_t, std::uint32_t>> shift(std::uint32_t nodes, std::uint32_t step) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  for (std::uint32_t n = 0; n < nodes; ++n) out.emplace_back(n, (n + step) % nodes);
  return out;
}

// Four NICs below a leaf, four cables up, one at a quarter of its rate: 3.25 cables for 4 GB take 24.6 ms. Spread
// equally, 1 GB crosses the slow one: 80 ms.
TEST(AdaptiveFlows, LeanAwayFromADegradedCable) {
  topology::TestCluster c = std::move(*topology::test_cluster(
      topology::test_fabric(topology::FabricKind::kLeafSpine, 8), topology::test_nics(1, true), 8));
  const topology::Topology& so_far = c.builder.peek();
  for (std::uint32_t l = 0; l < so_far.link_count(); l += 2) {
    if (so_far.name(topology::LinkId{l}) != "leaf0->spine0") continue;
    c.builder.degrade(topology::LinkId{l}, 0.25);
    break;  // spine0 has more cables to leaf0
  }
  const topology::Topology t = std::move(c.builder).seal();
  const auto across = shift(8, 4);
  EXPECT_NEAR(end_ms(t, topology::RoutingPolicy::kSpray, across), 80, 0.01);
  EXPECT_NEAR(end_ms(t, topology::RoutingPolicy::kAdaptive, across), 4 / 3.25 * 20, 0.2);
}

// One global cable joins two groups of a dragonfly. When a whole group sends to the next, the straight way is that
// cable alone; detours over other groups have room. When all flows stay in the group, there is nothing to gain by
// detours.
TEST(AdaptiveFlows, OfADragonflyTakeDetoursOnlyWhereTheyPay) {
  topology::FabricSpec s = topology::test_fabric(topology::FabricKind::kDragonfly, 7);
  const topology::Topology t =
      std::move(topology::test_cluster(s, topology::test_nics(1, true), 72)->builder).seal();  // 9 groups of 4 switches
  const auto next_group = shift(72, 8);
  const double straight = end_ms(t, topology::RoutingPolicy::kSpray, next_group),
               detours = end_ms(t, topology::RoutingPolicy::kValiant, next_group);
  const double adaptive = end_ms(t, topology::RoutingPolicy::kAdaptive, next_group);
  EXPECT_NEAR(straight, 8 * 20, 0.01);  // 8 GB over 50 GB/s
  EXPECT_LT(adaptive, 0.5 * straight);
  EXPECT_LT(adaptive, 1.05 * detours);
  const auto same_switch = shift(72, 1);
  EXPECT_LE(end_ms(t, topology::RoutingPolicy::kAdaptive, same_switch),
            end_ms(t, topology::RoutingPolicy::kSpray, same_switch) + 1e-9);
  EXPECT_LT(end_ms(t, topology::RoutingPolicy::kAdaptive, same_switch),
            end_ms(t, topology::RoutingPolicy::kValiant, same_switch));
}

}  // namespace
}  // namespace busbar::engine
