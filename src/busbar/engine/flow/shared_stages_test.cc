#include "busbar/engine/flow/internal/shared_stages.h"

#include <gtest/gtest.h>

#include <deque>

#include "busbar/base/random.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::engine {
namespace {

/// Fluids over three to eight links in a row.
lowering::Stage stage_over_rows(RandomStream& random, const topology::Topology& t) {
  lowering::Stage s;
  for (std::uint64_t f = 1 + random.below(6); f > 0; --f) {
    lowering::Fluid fluid{static_cast<std::uint32_t>(s.on.size()), 0, 1e6, 1e6 * (1 + 20 * random.uniform())};
    const std::uint64_t first = random.below(t.link_count() - 8);
    const double weight = 0.1 * static_cast<double>(1 + random.below(3));
    for (std::uint64_t i = 0, n = 3 + random.below(6); i < n; ++i) {
      s.on.push_back(topology::LinkId{static_cast<std::uint32_t>(first + i)});
      s.weight.push_back(weight);
    }
    fluid.end = static_cast<std::uint32_t>(s.on.size());
    s.fluids.push_back(fluid);
  }
  return s;
}

// Stages come one after another, so that classes of links are split again and again.
TEST(SharedStagesOfCalls, HaveTheRatesOfAllTheirLinks) {
  const topology::Topology t = lowering::leaf_spine(4, 4).seal();
  const routing::Router router{t, topology::RoutingPolicy::kStatic};
  const routing::Placement placement{router, t.gpus()};
  const lowering::Lowering lowering{router, placement, {}};
  const lowering::CapacityTable& table = lowering.capacities();
  const auto rate_of = [&](routing::CapacityId c) { return table.rate(c); };
  StageSolver whole_solver(table.counts()), folded_solver(table.counts());
  std::size_t links = 0, folded_links = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    RandomStream random(seed, "classes of links");
    SharedStages shared(whole_solver, table, true);
    std::deque<lowering::Stage> stages;
    for (std::uint32_t count = 0; count < 6; ++count) {
      stages.push_back(stage_over_rows(random, t));
      shared.add(count, stages.back());
      const std::uint32_t first = count / 2;  // not always with all that were taken in
      whole_solver.begin();
      folded_solver.begin();
      for (std::uint32_t s = first; s <= count; ++s) {
        const lowering::Stage& folded = shared.of(s);
        ASSERT_EQ(folded.fluids.size(), stages[s].fluids.size());
        links += stages[s].on.size();
        folded_links += folded.on.size();
        for (std::uint32_t f = 0; f < folded.fluids.size(); ++f) {
          whole_solver.add(stages[s], f, rate_of);
          folded_solver.add(folded, f, rate_of);
        }
      }
      const auto truth = whole_solver.solve(), found = folded_solver.solve();
      for (std::size_t i = 0; i < truth.size(); ++i)
        ASSERT_NEAR(found[i] / truth[i], 1, 1e-9) << "seed " << seed << " with " << count;
    }
  }
  EXPECT_LT(folded_links, links * 3 / 4);
}

}  // namespace
}  // namespace busbar::engine
