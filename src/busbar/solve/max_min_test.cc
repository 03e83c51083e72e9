#include "busbar/solve/max_min.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "busbar/base/random.h"

namespace busbar {
namespace {

struct Case {
  std::vector<double> capacity;
  std::vector<std::vector<std::uint32_t>> links;
  std::vector<std::vector<double>> weights;
  std::vector<double> caps;
};

Case random_case(std::uint64_t seed) {
  RandomStream r(seed, "max-min");
  Case c;
  const auto links = 1 + r.below(8);
  for (std::uint64_t l = 0; l < links; ++l) c.capacity.push_back(1 + 99 * r.uniform());
  const auto fluids = 1 + r.below(10);
  for (std::uint64_t f = 0; f < fluids; ++f) {
    c.links.emplace_back();
    c.weights.emplace_back();
    for (std::uint32_t l = 0; l < links; ++l)
      if (r.below(2)) {
        c.links.back().push_back(l);
        c.weights.back().push_back(0.25 * static_cast<double>(1 + r.below(16)));
      }
    c.caps.push_back(c.links.back().empty() || r.below(3) == 0 ? 1 + 20 * r.uniform() : INFINITY);
  }
  return c;
}

std::vector<double> solve(MaxMinSolver& s, const Case& c) {
  s.clear();
  for (std::size_t f = 0; f < c.links.size(); ++f) s.add_fluid(c.links[f], c.weights[f], c.caps[f]);
  s.solve(c.capacity);
  return {s.rates().begin(), s.rates().end()};
}

TEST(MaxMin, LongFlowTakesItsTightestShare) {
  MaxMinSolver s;
  const auto rate = solve(s, {{10, 4}, {{0, 1}, {0}, {1}}, {{1, 1}, {1}, {1}}, {INFINITY, INFINITY, INFINITY}});
  EXPECT_DOUBLE_EQ(rate[0], 2.0);
  EXPECT_DOUBLE_EQ(rate[1], 8.0);
  EXPECT_DOUBLE_EQ(rate[2], 2.0);
}

TEST(MaxMin, EightConnectionsAgainstOneShareEightToOne) {
  MaxMinSolver s;
  const auto rate = solve(s, {{90}, {{0}, {0}}, {{8}, {1}}, {INFINITY, INFINITY}});
  EXPECT_DOUBLE_EQ(8 * rate[0], 80);
  EXPECT_DOUBLE_EQ(rate[1], 10);
}

TEST(MaxMin, OfLinksInSeriesTheNarrowestHolds) {
  MaxMinSolver s;
  const auto both = [&](std::vector<double> capacity) {
    return solve(s, {capacity, {{0, 1, 2}, {0, 1, 2}}, {{1, 1, 1}, {2, 2, 2}}, {INFINITY, INFINITY}});
  };
  for (const std::vector<double>& capacity : {std::vector<double>{9, 6, 12}, {6, 9, 12}, {12, 9, 6}, {6, 6, 6}})
    for (const double rate : both(capacity)) EXPECT_DOUBLE_EQ(rate, 2);
}

/// Max-min fair: no link is above its capacity, and each fluid is at its cap or crosses a full link on which no other
/// is faster. Fluids of rate 0 have ended.
void expect_fair(const Case& c, std::span<const double> rate, std::uint64_t seed) {
  std::vector<double> used(c.capacity.size(), 0);
  for (std::size_t f = 0; f < rate.size(); ++f)
    for (std::size_t i = 0; i < c.links[f].size(); ++i) used[c.links[f][i]] += c.weights[f][i] * rate[f];
  for (std::size_t l = 0; l < used.size(); ++l) ASSERT_LE(used[l], c.capacity[l] * (1 + 1e-9)) << seed;
  for (std::size_t f = 0; f < rate.size(); ++f) {
    ASSERT_LE(rate[f], c.caps[f]);
    bool bounded = rate[f] == c.caps[f] || rate[f] == 0;
    for (const std::uint32_t l : c.links[f]) {
      bool fastest = used[l] >= c.capacity[l] * (1 - 1e-9);
      for (std::size_t g = 0; g < rate.size() && fastest; ++g)
        for (const std::uint32_t k : c.links[g]) fastest &= k != l || rate[g] <= rate[f] * (1 + 1e-9);
      bounded |= fastest;
    }
    ASSERT_TRUE(bounded) << "seed " << seed << " fluid " << f;
  }
}

TEST(MaxMin, EveryFluidIsAtItsCapOrHasABottleneck) {
  MaxMinSolver s;  // reused on purpose, to find stale work space
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const Case c = random_case(seed);
    const auto rate = solve(s, c);
    for (const double r : rate) ASSERT_GT(r, 0);
    expect_fair(c, rate, seed);
  }
}

TEST(MaxMin, WhatIsLeftAfterAnyEndsIsFairAgain) {
  MaxMinSolver s;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Case c = random_case(seed);
    solve(s, c);
    RandomStream order(seed, "ends");
    for (std::size_t left = c.caps.size(); left > 1;) {
      const auto f = static_cast<std::uint32_t>(order.below(c.caps.size()));
      if (s.rates()[f] == 0) continue;
      s.close(f);
      --left;
      if (order.below(2) == 0) continue;  // several fluids end at one time
      s.solve_again();
      EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(s.rates(), 0.0)), c.caps.size() - left);
      expect_fair(c, s.rates(), seed);
    }
  }
}

/// Caps below, between and above a link's fair share.
TEST(MaxMin, CapsBindInTheirOrder) {
  MaxMinSolver s;
  EXPECT_EQ(solve(s, {{12}, {{0}, {0}, {0}}, {{1}, {1}, {1}}, {2, 100, 4}}), (std::vector<double>{2, 6, 4}));
  s.close(0);
  s.solve_again();
  EXPECT_EQ(std::vector<double>(s.rates().begin(), s.rates().end()), (std::vector<double>{0, 8, 4}));
}

}  // namespace
}  // namespace busbar
