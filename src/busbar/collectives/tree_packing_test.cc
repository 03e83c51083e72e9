// Trees of any shape: proved like every schedule. Moves, edges and chain agree.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "busbar/base/random.h"
#include "busbar/collectives/builders.h"
#include "busbar/collectives/chain.h"
#include "busbar/collectives/moves.h"
#include "busbar/collectives/verify.h"

namespace busbar::collectives {
namespace {

GivenTree random_tree(RandomStream& random, std::uint32_t n, std::uint32_t root) {
  GivenTree t;
  for (std::uint32_t i = 0; i < n; ++i) t.position.push_back((root + i) % n);
  for (std::uint32_t i = n; i > 2; --i)
    std::swap(t.position[i - 1], t.position[1 + random.below(i - 1)]);  // the root stays
  t.parent.assign(n, 0);
  for (std::uint32_t i = 2; i < n; ++i) t.parent[i] = static_cast<std::uint32_t>(random.below(i));
  return t;
}

RC_GTEST_PROP(TreePacking, IsProvedForRandomTreesAndItsReadersAgree, ()) {
  RandomStream random(*rc::gen::arbitrary<std::uint64_t>(), "trees");
  const auto n = *rc::gen::inRange<std::uint32_t>(1, 18);
  const auto count = *rc::gen::inRange<std::uint32_t>(1, 5);
  const auto root = static_cast<std::uint32_t>(random.below(n));
  for (const Collective op : {Collective::kAllReduce, Collective::kBroadcast, Collective::kReduce}) {
    std::vector<WeightedTree> trees;
    for (std::uint32_t i = 0; i < count; ++i)
      trees.push_back({random_tree(random, n, root), 1 + static_cast<std::uint32_t>(random.below(3))});
    const Schedule s = build_tree_packing(op, n, op == Collective::kAllReduce ? 0 : root, trees).value();
    const Status proof = verify(s);
    RC_ASSERT(proof.ok());
    for (const Phase& p : s.phases) {
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> by_moves, by_edges;
      for (std::uint32_t r = 0; r < rounds(s, p); ++r)
        for_each_move(s, p, r, [&](const Move& m) { by_moves[{m.src, m.dst}] += m.chunk_count; });
      for_each_edge(s, p, 0, [&](std::uint32_t a, std::uint32_t b, auto c) { by_edges[{a, b}] += c; });
      RC_ASSERT(by_moves == by_edges);
    }
    ChainScratch scratch;
    for (const PhaseRun run : phase_runs(s)) {  // with equal edges, the chain has as many sends as there are rounds
      const double chain = longest_chain(
          s, run, 0,
          [](auto, auto) {
            return SendCost{3, 4};
          },
          scratch);
      RC_ASSERT(chain == 7.0 * run_rounds(s, run));
    }
  }
}

TEST(TreePacking, RefusesInvalidTrees) {
  const auto build = [](std::vector<std::uint32_t> position, std::vector<std::uint32_t> parent,
                        std::uint32_t root = 0) {
    return build_tree_packing(Collective::kBroadcast, 3, root, {{{position, parent}, 1}}).ok();
  };
  EXPECT_TRUE(build({0, 2, 1}, {0, 0, 1}));
  EXPECT_FALSE(build({0, 2, 2}, {0, 0, 1}));
  EXPECT_FALSE(build({0, 2}, {0, 0}));
  EXPECT_FALSE(build({0, 2, 1}, {0, 2, 0}));
  EXPECT_FALSE(build({0, 2, 1}, {0, 0, 1}, 1));
  EXPECT_FALSE(build_tree_packing(Collective::kAllReduce, 3, 0, {}).ok());
  EXPECT_FALSE(build_tree_packing(Collective::kAllGather, 3, 0, {{{{0, 1, 2}, {0, 0, 0}}, 1}}).ok());
}

}  // namespace
}  // namespace busbar::collectives
