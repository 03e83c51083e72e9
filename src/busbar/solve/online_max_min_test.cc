#include "busbar/solve/online_max_min.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>

#include "busbar/base/random.h"
#include "busbar/solve/max_min.h"

// Counts every allocation of this program, so that a test can require zero.
namespace {
std::size_t g_allocations = 0;
}
void* operator new(std::size_t n) {
  ++g_allocations;
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace busbar::solve {
namespace {

struct Flow {
  std::vector<std::uint32_t> links;
  std::vector<double> weights;
  double cap = INFINITY;
  bool open = false;
};
struct OnlineCase {
  std::vector<double> capacity;
  std::vector<Flow> flows;
};

OnlineCase random_case(std::uint64_t seed, bool plain) {
  RandomStream random(seed, "online");
  OnlineCase c;
  const std::uint64_t links = 1 + random.below(12), flows = 1 + random.below(24);
  for (std::uint64_t l = 0; l < links; ++l) c.capacity.push_back(plain ? 1 : 0.5 + 10 * random.uniform());
  for (std::uint64_t f = 0; f < flows; ++f) {
    Flow flow;
    for (std::uint32_t l = 0; l < links; ++l)
      if (random.below(3) == 0) {
        flow.links.push_back(l);
        flow.weights.push_back(plain ? 1 : 0.1 + random.uniform());
      }
    if (flow.links.empty()) flow = {{static_cast<std::uint32_t>(random.below(links))}, {1.0}};
    if (random.below(4) == 0) flow.cap = 0.05 + 3 * random.uniform();
    c.flows.push_back(flow);
  }
  return c;
}

/// The definition: no link is above its capacity, and every open flow is at its cap or on a full link where it is
/// fastest.
void expect_max_min(const OnlineCase& c, const OnlineMaxMin& solver, std::uint64_t seed) {
  constexpr double kRoundOff = 1e-9;  // relative
  std::vector<double> load(c.capacity.size(), 0.0), fastest(c.capacity.size(), 0.0);
  for (std::uint32_t f = 0; f < c.flows.size(); ++f)
    for (std::size_t i = 0; c.flows[f].open && i < c.flows[f].links.size(); ++i) {
      load[c.flows[f].links[i]] += c.flows[f].weights[i] * solver.rate(f);
      fastest[c.flows[f].links[i]] = std::max(fastest[c.flows[f].links[i]], solver.rate(f));
    }
  for (std::size_t l = 0; l < load.size(); ++l) ASSERT_LE(load[l], c.capacity[l] * (1 + kRoundOff)) << "seed " << seed;
  for (std::uint32_t f = 0; f < c.flows.size(); ++f) {
    if (!c.flows[f].open) continue;
    bool held = solver.rate(f) >= c.flows[f].cap * (1 - kRoundOff);
    ASSERT_LE(solver.rate(f), c.flows[f].cap * (1 + kRoundOff)) << "seed " << seed;
    for (const std::uint32_t l : c.flows[f].links)
      held = held || (load[l] >= c.capacity[l] * (1 - kRoundOff) && solver.rate(f) >= fastest[l] * (1 - kRoundOff));
    ASSERT_TRUE(held) << "flow " << f << " of seed " << seed;
  }
}

std::vector<double> rates_of(const OnlineCase& c, const OnlineMaxMin& solver) {
  std::vector<double> rates;
  for (std::uint32_t f = 0; f < c.flows.size(); ++f) rates.push_back(solver.rate(f));
  return rates;
}

/// Closed flows have no rate. What has a new rate is named, once, and nothing else. Who is held by a link is fastest
/// there, and who is held by nothing is at its cap.
void expect_told(const OnlineCase& c, const OnlineMaxMin& solver, const std::vector<double>& before,
                 const std::vector<bool>& moved, std::uint64_t seed) {
  std::vector<std::uint32_t> changed(solver.changed().begin(), solver.changed().end()), expected;
  std::sort(changed.begin(), changed.end());
  for (std::uint32_t f = 0; f < c.flows.size(); ++f) {
    const double was = moved[f] ? 0 : before[f];
    if (c.flows[f].open && std::abs(solver.rate(f) - was) > 1e-12 * was) expected.push_back(f);
    if (!c.flows[f].open) {
      ASSERT_EQ(solver.rate(f), 0) << "seed " << seed;
      ASSERT_EQ(solver.held_by(f), kNone32) << "seed " << seed;
      continue;
    }
    if (solver.held_by(f) == kNone32) {
      ASSERT_EQ(solver.rate(f), c.flows[f].cap) << "seed " << seed;
      continue;
    }
    double load = 0;
    for (std::uint32_t g = 0; g < c.flows.size(); ++g)
      for (std::size_t i = 0; c.flows[g].open && i < c.flows[g].links.size(); ++i)
        if (c.flows[g].links[i] == solver.held_by(f)) {
          load += c.flows[g].weights[i] * solver.rate(g);
          ASSERT_LE(solver.rate(g), solver.rate(f) * (1 + 1e-9)) << "seed " << seed;
        }
    ASSERT_GE(load, c.capacity[solver.held_by(f)] * (1 - 1e-9)) << "seed " << seed;
  }
  ASSERT_EQ(changed, expected) << "seed " << seed;
}

TEST(OnlineMaxMin, KeepsTheBottleneckPropertyThroughOpeningsAndClosings) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    OnlineCase c = random_case(seed, seed % 3 == 0);
    OnlineMaxMin solver(c.capacity);
    for (const Flow& f : c.flows) solver.add_flow(f.links, f.weights, f.cap);
    RandomStream random(seed, "comings and goings");
    for (int step = 0; step < 30; ++step) {
      const std::uint64_t at_once = 1 + random.below(c.flows.size());
      std::vector<bool> moved(c.flows.size(), false);
      const std::vector<double> before = rates_of(c, solver);
      for (std::uint64_t i = 0; i < at_once; ++i) {
        const auto f = static_cast<std::uint32_t>(random.below(c.flows.size()));
        if (moved[f]) continue;
        moved[f] = true;
        c.flows[f].open = !c.flows[f].open;
        c.flows[f].open ? solver.open(f) : solver.close(f);
      }
      solver.settle();
      expect_max_min(c, solver, seed);
      expect_told(c, solver, before, moved, seed);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(OnlineMaxMin, LeavesOutTheLinksThatCannotBeFullAndNoOthers) {
  using Flows = std::vector<std::vector<std::uint32_t>>;
  const auto names = [](std::vector<double> capacity, const Flows& flows, double cap) {
    Shortcuts shortcuts;
    shortcuts.taken = std::make_shared<std::atomic<std::uint64_t>>(0);
    OnlineMaxMin solver(std::move(capacity), shortcuts);
    const std::vector<double> ones(3, 1.0);
    for (const auto& links : flows) solver.add_flow(links, std::span(ones).first(links.size()), cap);
    for (std::uint32_t f = 0; f < flows.size(); ++f) solver.open(f);
    return shortcuts.names_taken();
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names({10, 100}, {{0, 1}, {0, 1}}, INFINITY), Names{"idle links"});
  EXPECT_EQ(names({10, 20}, {{0, 1}, {0, 1}}, INFINITY), Names{});
  EXPECT_EQ(names({10}, {{0}, {0}}, 5 * (1 - 2e-9)), Names{"idle links"});
  EXPECT_EQ(names({10}, {{0}, {0}}, 5 * (1 - 5e-10)), Names{});
  EXPECT_EQ(names({20, 20, 20}, {{0, 1, 2}}, INFINITY), Names{"private links"});
  EXPECT_EQ(names({20}, {{0}}, INFINITY), Names{});
  EXPECT_EQ(names({30, 20}, {{0, 1}}, INFINITY), Names{"idle links"});
}

/// Half of the flows are known when the first opens. The others may fill links that the first half could not.
TEST(OnlineMaxMin, KeepsTheBottleneckPropertyForFlowsThatCameLater) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    OnlineCase c = random_case(seed, seed % 3 == 0);
    OnlineMaxMin solver(c.capacity);
    std::uint32_t known = 0;
    const auto add_up_to = [&](std::size_t n) {
      for (; known < n; ++known) solver.add_flow(c.flows[known].links, c.flows[known].weights, c.flows[known].cap);
    };
    add_up_to((c.flows.size() + 1) / 2);
    RandomStream random(seed, "latecomers");
    for (int step = 0; step < 12; ++step) {
      if (step == 4) add_up_to(c.flows.size());
      const auto f = static_cast<std::uint32_t>(random.below(known));
      c.flows[f].open = !c.flows[f].open;
      c.flows[f].open ? solver.open(f) : solver.close(f);
      solver.settle();
      expect_max_min(c, solver, seed);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(OnlineMaxMin, NamesTheFirstOfLinksThatAreEquallyNarrow) {
  OnlineMaxMin solver({8, 4, 4, 4, 100});
  const std::vector<double> ones(4, 1.0);
  solver.add_flow(std::vector<std::uint32_t>{0, 3, 2, 4}, ones, INFINITY);
  solver.add_flow(std::vector<std::uint32_t>{4}, std::span(ones).first(1), INFINITY);
  solver.open(0);
  solver.open(1);
  solver.settle();
  EXPECT_EQ(solver.held_by(0), 2u);
  EXPECT_DOUBLE_EQ(solver.rate(0), 4);
  EXPECT_EQ(solver.held_by(1), 4u);
  EXPECT_DOUBLE_EQ(solver.rate(1), 96);
}

TEST(OnlineMaxMin, TouchesOnlyTheFlowsWhoseRatesChange) {
  OnlineMaxMin solver({10, 10, 10});
  const double one[] = {1.0};
  for (std::uint32_t f = 0; f < 6; ++f) {
    const std::uint32_t link[] = {f / 2};
    solver.add_flow(link, one, INFINITY);
    solver.open(f);
  }
  solver.settle();
  EXPECT_EQ(solver.changed().size(), 6u);
  solver.close(3);
  solver.settle();
  ASSERT_EQ(solver.changed().size(), 1u);
  EXPECT_EQ(solver.changed()[0], 2u);
  EXPECT_DOUBLE_EQ(solver.rate(2), 10.0);
}

TEST(OnlineMaxMin, AllocatesNothingWhenItRunsTheSameAgain) {
  const OnlineCase c = random_case(4, false);
  OnlineMaxMin solver(c.capacity);
  for (const Flow& f : c.flows) solver.add_flow(f.links, f.weights, f.cap);
  const auto run = [&] {
    for (std::uint32_t f = 0; f < c.flows.size(); ++f) {
      solver.open(f);
      solver.settle();
    }
    for (std::uint32_t f = 0; f < c.flows.size(); ++f) {
      solver.close(f);
      solver.settle();
    }
  };
  run();
  const std::size_t before = g_allocations;
  run();
  EXPECT_EQ(g_allocations, before);
}

TEST(MaxMin, MakesNoAllocationAfterTheFirstRunOfASize) {
  RandomStream random(5, "allocations");
  const std::vector<double> capacity(200, 100.0), weights{1, 2, 0.5};
  std::vector<std::vector<std::uint32_t>> links;
  for (int f = 0; f < 500; ++f) {
    const auto at = static_cast<std::uint32_t>(random.below(100));
    links.push_back({at, at + 1 + static_cast<std::uint32_t>(random.below(40)), at + 50 + at % 40});
  }
  MaxMinSolver solver;
  const auto run = [&](std::size_t flows) {
    solver.clear();
    for (std::size_t f = 0; f < flows; ++f) solver.add_fluid(links[f], weights, f % 3 == 0 ? 0.1 : INFINITY);
    solver.solve(capacity);
  };
  run(links.size());
  const std::size_t before = g_allocations;
  for (std::size_t flows = links.size(); flows > 100; flows -= 7) run(flows);
  EXPECT_EQ(g_allocations, before);
}

}  // namespace
}  // namespace busbar::solve
