#include "busbar/solve/max_min.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "busbar/base/random.h"

namespace busbar::solve {
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

TEST(MaxMin, RatesAreFairAgainAfterAnyEnd) {
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

TEST(MaxMin, AFluidWithoutLinksHasItsCapOrNoLimit) {
  MaxMinSolver s;
  const auto rate = solve(s, {{10}, {{}, {}, {0}}, {{}, {}, {2}}, {INFINITY, 3, INFINITY}});
  EXPECT_EQ(rate, (std::vector<double>{INFINITY, 3, 5}));
}

/// What is left out, by name, and how many pairs of a fluid and a link are left.
struct LeftOut {
  Case c;
  std::size_t crossings;
  std::vector<std::string> names;
};

TEST(MaxMin, LeavesOutTheLinksThatCannotBeFullAndNoOthers) {
  const double inf = INFINITY;
  const auto two = [&](double a, double b, double weight = 1) {
    return Case{{a, b}, {{0, 1}, {0, 1}}, {{1, 1}, {1, weight}}, {inf, inf}};
  };
  const auto one = [](std::vector<double> capacity, double cap) {
    return Case{std::move(capacity), {{0, 1, 2}}, {{1, 1, 1}}, {cap}};
  };
  const auto caps = [](double capacity) { return Case{{capacity}, {{0}, {0}}, {{1}, {1}}, {5, 5}}; };
  const LeftOut cases[] = {
      {two(10, 100), 2, {"idle links"}},
      {two(100, 10), 2, {"idle links"}},
      {two(10, 20), 2, {"links in series"}},  // just not idle: 2 x 10
      {two(10, 20, 1.5), 4, {}},
      {caps(10 * (1 + 2e-9)), 0, {"idle links"}},
      {caps(10 * (1 + 5e-10)), 2, {}},
      {one({30, 20, 25}, 40), 1, {"private links"}},
      {one({20, 30, 25}, 40), 1, {"private links"}},
      {one({20, 20, 20}, inf), 1, {"private links"}},
      {one({30, 20, 25}, inf), 1, {"idle links"}},
      {one({30, 20, 25}, 10), 0, {"idle links"}},
      {two(10, 12), 2, {"links in series"}},
      {two(12, 10), 2, {"links in series"}},
      {two(10, 10), 2, {"links in series"}},
      {two(10, 10 * (1 + 1e-13)), 4, {}},
      {two(10, 12, 1.5), 4, {}},
  };
  for (const LeftOut& expected : cases)
    for (const double unit : {1.0, 0x1p-40, 0x1p40}) {  // the unit of the rates changes nothing
      Case c = expected.c;
      for (double& x : c.capacity) x *= unit;
      for (double& x : c.caps) x *= unit;
      Shortcuts shortcuts;
      shortcuts.taken = std::make_shared<std::atomic<std::uint64_t>>(0);
      MaxMinSolver s(shortcuts), whole(Shortcuts::none());
      EXPECT_EQ(solve(s, c), solve(whole, c));
      EXPECT_EQ(s.crossings(), expected.crossings) << c.capacity[0];
      EXPECT_EQ(shortcuts.names_taken(), expected.names) << c.capacity[0];
    }
}

/// Many fluids, most of which cross the same links one after the other.
Case case_in_series(std::uint64_t seed) {
  RandomStream r(seed, "links in series");
  Case c;
  std::vector<std::vector<std::uint32_t>> ways;
  for (std::uint64_t way = 1 + r.below(6); way > 0; --way) {
    ways.emplace_back();
    for (std::uint64_t l = 1 + r.below(4); l > 0; --l) {
      ways.back().push_back(static_cast<std::uint32_t>(c.capacity.size()));
      c.capacity.push_back(static_cast<double>(10 + r.below(30)));
    }
  }
  for (std::uint64_t f = 1 + r.below(40); f > 0; --f) {
    c.links.push_back(ways[r.below(ways.size())]);
    if (r.below(3) == 0)
      for (const std::uint32_t l : ways[r.below(ways.size())])
        if (std::ranges::count(c.links.back(), l) == 0) c.links.back().push_back(l);
    c.weights.emplace_back(c.links.back().size(), static_cast<double>(1 + r.below(2)));
    c.caps.push_back(r.below(3) == 0 ? 1 + static_cast<double>(r.below(20)) : INFINITY);
  }
  return c;
}

TEST(MaxMin, LinksThatAreLeftOutChangeNoBit) {
  Shortcuts all;
  all.taken = std::make_shared<std::atomic<std::uint64_t>>(0);
  MaxMinSolver s(all), whole(Shortcuts::none());
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Case c = seed % 2 == 0 ? random_case(seed) : case_in_series(seed);
    ASSERT_EQ(solve(s, c), solve(whole, c)) << seed;
    ASSERT_LE(s.crossings(), whole.crossings()) << seed;
    expect_fair(c, s.rates(), seed);
  }
  EXPECT_THAT(all.names_taken(), ::testing::ElementsAre("idle links", "private links", "links in series"));
}

}  // namespace
}  // namespace busbar::solve
