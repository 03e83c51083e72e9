#include "busbar/floors/internal/pair_ways.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

namespace busbar::floors {
namespace {

using Edge = std::tuple<std::uint32_t, std::uint32_t, double>;

PairWays both_ways(std::uint32_t places, const std::vector<Edge>& edges) {
  PairWays ways(std::vector<double>(places, 1.0));
  for (const auto& [a, b, rate] : edges) ways.join(a, b, rate), ways.join(b, a, rate);
  return ways;
}

// All links are alike, so the bound is (sum of hops) / (number of directed links).
TEST(PairWays, OfEqualLinksIsTheMeanNumberOfHops) {
  EXPECT_NEAR(both_ways(5, {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 4, 1}, {4, 0, 1}}).bound(100, 0), 5 * 6 / 10.0, 1e-6);
  std::vector<Edge> two_sides;
  for (std::uint32_t a = 0; a < 3; ++a)
    for (std::uint32_t b = 3; b < 6; ++b) two_sides.emplace_back(a, b, 2);
  EXPECT_NEAR(both_ways(6, two_sides).bound(100, 0), 6 * (3 + 2 * 2) / 18.0 / 2, 1e-6);
}

TEST(PairWays, FindTheSlowLinkOfAChain) {
  const double most = 2 * 1 / 0.1;  // two members on one side
  const double found = both_ways(3, {{0, 1, 1}, {1, 2, 0.1}}).bound(200, 0);
  EXPECT_LE(found, most);
  EXPECT_GE(found, 0.99 * most);
}

TEST(PairWays, StopWhereAKnownBoundIsEnoughAndWherePairsAreApart) {
  PairWays chain = both_ways(3, {{0, 1, 1}, {1, 2, 0.1}});
  EXPECT_LT(chain.bound(200, 20), 0.7 * 20) << "the first lengths";
  EXPECT_EQ(both_ways(3, {{0, 1, 1}}).bound(10, 0), 0);
}

std::vector<Edge> random_edges(std::uint32_t places, unsigned seed) {
  std::mt19937 dice(seed);
  std::vector<Edge> edges;
  for (std::uint32_t p = 1; p < places; ++p)
    edges.emplace_back(p, dice() % p, 1 + static_cast<double>(dice() % 1000) / 100);
  for (int more = 0; more < 5; ++more) {
    const std::uint32_t a = static_cast<std::uint32_t>(dice()) % places,
                        b = static_cast<std::uint32_t>(dice()) % places;
    if (a != b) edges.emplace_back(a, b, 1 + static_cast<double>(dice() % 1000) / 100);
  }
  return edges;
}

/// The largest (members inside) x (members outside) / rate over all cuts.
double best_cut(std::uint32_t places, const std::vector<Edge>& edges) {
  double best = 0;
  for (std::uint32_t set = 1; set + 1 < 1u << places; ++set) {
    double rate = 0, inside = 0;
    for (const auto& [a, b, r] : edges) rate += (set >> a & 1) != (set >> b & 1) ? r : 0;
    for (std::uint32_t p = 0; p < places; ++p) inside += set >> p & 1;
    best = std::max(best, inside * (places - inside) / rate);
  }
  return best;
}

/// The load of the fullest link if every pair takes one way of the fewest hops: a flow, so no bound may be above it.
double by_fewest_hops(std::uint32_t places, const std::vector<Edge>& edges) {
  std::vector<double> load(2 * edges.size(), 0.0);
  const auto end = [&](std::size_t l) { return l % 2 == 0 ? std::get<1>(edges[l / 2]) : std::get<0>(edges[l / 2]); };
  const auto begin = [&](std::size_t l) { return end(l ^ 1); };
  for (std::uint32_t start = 0; start < places; ++start) {
    std::vector<std::size_t> last(places, load.size());
    std::vector<std::uint32_t> reached{start};
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (std::size_t l = 0; l < load.size(); ++l)
        if (begin(l) == reached[i] && end(l) != start && last[end(l)] == load.size())
          last[end(l)] = l, reached.push_back(end(l));
    for (std::uint32_t to = 0; to < places; ++to)
      for (std::uint32_t at = to; at != start; at = begin(last[at])) load[last[at]] += 1;
  }
  double most = 0;
  for (std::size_t l = 0; l < load.size(); ++l) most = std::max(most, load[l] / std::get<2>(edges[l / 2]));
  return most;
}

TEST(PairWays, AreNoLessThanAnyCutAndNoMoreThanAnyFlow) {
  constexpr std::uint32_t kPlaces = 8;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const std::vector<Edge> edges = random_edges(kPlaces, seed);
    const double found = both_ways(kPlaces, edges).bound(200, 0);
    EXPECT_GE(found, 0.9 * best_cut(kPlaces, edges)) << "seed " << seed;
    EXPECT_LE(found, by_fewest_hops(kPlaces, edges)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace busbar::floors
