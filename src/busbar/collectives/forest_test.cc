// Forests and paths of any shape: proved like every schedule. Moves and edges agree.
#include "busbar/collectives/forest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "busbar/base/random.h"
#include "busbar/collectives/edges.h"
#include "busbar/collectives/execution_plan.h"
#include "busbar/collectives/moves.h"
#include "busbar/collectives/verify.h"

namespace busbar::collectives {
namespace {

GivenTree random_given_tree(RandomStream& random, std::uint32_t n, std::uint32_t root) {
  GivenTree t;
  for (std::uint32_t i = 0; i < n; ++i) t.position.push_back((root + i) % n);
  for (std::uint32_t i = n; i > 2; --i) std::swap(t.position[i - 1], t.position[1 + random.below(i - 1)]);
  t.parent.assign(n, 0);
  for (std::uint32_t i = 2; i < n; ++i) t.parent[i] = static_cast<std::uint32_t>(random.below(i));
  return t;
}

ForestTree random_pair(RandomStream& random, std::uint32_t n, std::uint32_t root, std::uint32_t weight) {
  return {random_given_tree(random, n, root), random_given_tree(random, n, root), weight};
}

void expect_readers_agree(const Schedule& s) {
  for (const Phase& p : s.phases) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> by_moves, by_edges;
    for (std::uint32_t r = 0; r < rounds(s, p); ++r)
      for_each_move(s, p, r, [&](const Move& m) { by_moves[{m.src, m.dst}] += m.chunk_count; });
    for (std::uint32_t g = 0; g < s.families[p.family].groups(); ++g)
      for_each_edge(s, p, g, [&](std::uint32_t a, std::uint32_t b, std::uint64_t c) {
        if (c > 0) by_edges[{a, b}] += c;
      });
    EXPECT_EQ(by_moves, by_edges);
  }
}

RC_GTEST_PROP(Forest, IsProvedForRandomTreesOfAllRoots, ()) {
  RandomStream random(*rc::gen::arbitrary<std::uint64_t>(), "forest");
  const auto places = *rc::gen::inRange<std::uint32_t>(1, 9), nodes = *rc::gen::inRange<std::uint32_t>(1, 6);
  const auto each = *rc::gen::inRange<std::uint32_t>(1, 4);
  for (const Collective op : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter}) {
    ForestSpec spec;
    spec.op = op;
    spec.ranks = places * nodes;
    spec.per_node = nodes == 1 && random.below(2) == 0 ? 0 : places;
    const auto between = random.below(3);
    if (between == 1) spec.scatter = Pattern::kHalvingReduceScatter, spec.gather = Pattern::kDoublingAllGather;
    if (between == 2) spec.scatter = Pattern::kPatReduceScatter, spec.gather = Pattern::kPatAllGather;
    for (std::uint32_t root = places; root-- > 0;) {
      if (each == 3) spec.trees.push_back(random_pair(random, places, root, 1));
      spec.trees.push_back(random_pair(random, places, root, each == 1 ? 1 : 2));
    }
    for (std::uint32_t r = 0; op == Collective::kAllReduce && each == 2 && r < spec.ranks; ++r)
      spec.order.insert(spec.order.begin() + static_cast<std::ptrdiff_t>(random.below(r + 1)), r);
    if (op == Collective::kAllReduce && places > 1) spec.trees.pop_back();  // some ranks are not roots
    const Schedule s = build_forest(spec).value();
    const Status proof = verify(s);
    RC_ASSERT(proof.ok());
    expect_readers_agree(s);
    if (spec.ranks <= 12) RC_ASSERT(prove(plan_of(s, false).value()).ok());
    if (spec.ranks <= 12) RC_ASSERT(prove(plan_of(s, true).value()).ok());
  }
}

TEST(Forest, IsProvedForManyRanks) {
  RandomStream random(7, "forest");
  for (const std::uint32_t n : {2u, 3u, 13u, 17u, 24u, 32u, 64u, 72u})
    for (const Collective op : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter})
      for (const std::uint32_t per_node : {0u, n % 4 == 0 ? 4u : n}) {
        ForestSpec spec;
        spec.op = op;
        spec.ranks = n;
        spec.per_node = per_node;
        for (std::uint32_t r = 0; r < (per_node == 0 ? n : per_node); ++r)
          spec.trees.push_back(random_pair(random, per_node == 0 ? n : per_node, r, 1));
        EXPECT_TRUE(verify(build_forest(spec).value()).ok()) << n << " " << name_of(op) << " " << per_node;
      }
}

/// As in the table of docs/collectives.md: in a forest of one node, each rank but the owner receives a piece once.
TEST(Forest, SendsEveryPieceToEveryRankOnce) {
  RandomStream random(3, "forest");
  ForestSpec spec;
  spec.op = Collective::kAllGather;
  spec.ranks = 7;
  for (std::uint32_t r = 0; r < 7; ++r) spec.trees.push_back(random_pair(random, 7, r, 2));
  const Schedule s = build_forest(spec).value();
  std::vector<std::uint64_t> received(7, 0);
  for (const Phase& p : s.phases)
    for_each_edge(s, p, 0, [&](std::uint32_t, std::uint32_t to, std::uint64_t chunks) { received[to] += chunks; });
  for (const std::uint64_t chunks : received) EXPECT_EQ(chunks * 7, s.chunks * 6u);
}

TEST(Forest, RefusesRootsOfUnequalWeightAndTreesOfTwoRoots) {
  const GivenTree zero{{0, 1}, {0, 0}}, one{{1, 0}, {0, 0}};
  const auto build = [&](Collective op, std::vector<ForestTree> trees, std::uint32_t ranks = 2,
                         std::vector<std::uint32_t> order = {}) {
    ForestSpec spec;
    spec.op = op;
    spec.ranks = ranks;
    spec.per_node = 2;
    spec.trees = std::move(trees);
    spec.order = std::move(order);
    return build_forest(spec).ok();
  };
  EXPECT_TRUE(build(Collective::kAllGather, {{zero, zero, 1}, {one, one, 1}}));
  EXPECT_FALSE(build(Collective::kAllGather, {{zero, zero, 1}, {one, one, 2}}));
  EXPECT_FALSE(build(Collective::kReduceScatter, {{zero, zero, 1}}));
  EXPECT_TRUE(build(Collective::kAllReduce, {{zero, zero, 1}}));
  EXPECT_FALSE(build(Collective::kAllReduce, {{zero, one, 1}}));
  EXPECT_FALSE(build(Collective::kAllReduce, {{zero, zero, 0}}));
  EXPECT_FALSE(build(Collective::kAllReduce, {}));
  EXPECT_FALSE(build(Collective::kBroadcast, {{zero, zero, 1}}));
  EXPECT_FALSE(build(Collective::kAllReduce, {{zero, zero, 1}}, 3));
  EXPECT_TRUE(build(Collective::kAllReduce, {{zero, zero, 1}}, 2, {1, 0}));
  EXPECT_FALSE(build(Collective::kAllReduce, {{zero, zero, 1}}, 2, {1, 1}));
  EXPECT_FALSE(build(Collective::kAllGather, {{zero, zero, 1}, {one, one, 1}}, 2, {1, 0}));
}

/// A random path from a to b over other ranks.
RankPath random_path(RandomStream& random, std::uint32_t n, std::uint32_t a, std::uint32_t b, std::uint32_t weight) {
  std::vector<std::uint32_t> others;
  for (std::uint32_t r = 0; r < n; ++r)
    if (r != a && r != b) others.push_back(r);
  RankPath p{{a}, weight};
  for (std::uint64_t relays = random.below(4); relays > 0 && !others.empty(); --relays) {
    const auto at = others.begin() + static_cast<std::ptrdiff_t>(random.below(others.size()));
    p.ranks.push_back(*at);
    others.erase(at);
  }
  p.ranks.push_back(b);
  return p;
}

RC_GTEST_PROP(Paths, AreProvedForRandomRelays, ()) {
  RandomStream random(*rc::gen::arbitrary<std::uint64_t>(), "paths");
  const auto n = *rc::gen::inRange<std::uint32_t>(1, 10), each = *rc::gen::inRange<std::uint32_t>(1, 4);
  const auto root = static_cast<std::uint32_t>(random.below(n));
  for (const Collective op : {Collective::kGather, Collective::kScatter, Collective::kAllToAll}) {
    std::vector<RankPath> paths;
    const auto join = [&](std::uint32_t a, std::uint32_t b) {
      if (a == b) return;
      if (each == 3) paths.push_back(random_path(random, n, a, b, 1));
      paths.push_back(random_path(random, n, a, b, each == 1 ? 1 : 2));
    };
    for (std::uint32_t a = 0; a < n; ++a)
      for (std::uint32_t b = 0; b < n; ++b) {
        if (op == Collective::kGather && b != root) continue;
        if (op == Collective::kScatter && a != root) continue;
        join(a, b);
      }
    const Schedule s = build_paths(op, n, op == Collective::kAllToAll ? 0 : root, paths).value();
    const Status proof = verify(s);
    RC_ASSERT(proof.ok());
    expect_readers_agree(s);
    if (op != Collective::kAllToAll) RC_ASSERT(prove(plan_of(s, true).value()).ok());
    RC_ASSERT(prove(plan_of(s, false).value()).ok());
  }
}

TEST(Paths, RefuseAPairWithoutAPath) {
  const auto gather = [](std::vector<RankPath> paths) { return build_paths(Collective::kGather, 3, 0, paths).ok(); };
  EXPECT_TRUE(gather({{{1, 0}, 1}, {{2, 1, 0}, 1}}));
  EXPECT_FALSE(gather({{{1, 0}, 1}}));
  EXPECT_FALSE(gather({{{1, 0}, 1}, {{2, 0}, 2}}));
  EXPECT_FALSE(gather({{{1, 0}, 1}, {{2, 1}, 1}}));
  EXPECT_FALSE(gather({{{1, 0}, 1}, {{2, 1, 1, 0}, 1}}));
  EXPECT_FALSE(gather({{{1, 0}, 1}, {{2, 7, 0}, 1}}));
  EXPECT_FALSE(gather({{{1, 0}, 1}, {{0}, 1}}));
  EXPECT_FALSE(build_paths(Collective::kAllReduce, 2, 0, {{{1, 0}, 1}}).ok());
}

}  // namespace
}  // namespace busbar::collectives
