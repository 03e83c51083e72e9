#include "busbar/engine/flow/internal/shared_rates.h"

#include <gtest/gtest.h>

#include "busbar/base/random.h"
#include "busbar/lowering/test_machines.h"

namespace busbar {
namespace {

/// Up to `most` fluids over one to four links each, out of `links`.
Stage random_stage(RandomStream& random, std::span<const LinkId> links, std::uint64_t most = 8) {
  Stage s;
  for (std::uint64_t f = 1 + random.below(most); f > 0; --f) {
    Fluid fluid;
    fluid.begin = static_cast<std::uint32_t>(s.on.size());
    const std::uint64_t first = random.below(links.size() - 4);
    for (std::uint64_t i = 0, n = 1 + random.below(4); i < n; ++i) {
      s.on.push_back(links[first + i]);
      s.weight.push_back(0.25 * static_cast<double>(1 + random.below(8)));
    }
    fluid.end = static_cast<std::uint32_t>(s.on.size());
    fluid.bytes = 1e6;
    fluid.alone_ps = 1e6 * (1 + 100 * random.uniform());
    s.fluids.push_back(fluid);
  }
  return s;
}

/// Two tiers of switches, with all their links.
class SharedRatesOfStages : public testing::Test {
 protected:
  const Topology t = leaf_spine(4, 4).seal();
  const Router router{t, RoutingPolicy::kStatic};
  const Placement placement{router, t.gpus()};
  const Lowering lowering{router, placement, {}};
  const std::vector<LinkId> links = [&] {
    std::vector<LinkId> all;
    for (std::uint32_t l = 0; l < t.link_count(); ++l) all.push_back(LinkId{l});
    return all;
  }();
};
TEST_F(SharedRatesOfStages, AreThoseOverAllLinksOfAllStages) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random(seed, "sharing groups");
    std::vector<Stage> stages;
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n) stages.push_back(random_stage(random, links));
    StageSolver kept_solver(lowering.capacities().counts());
    SharedRates rates(kept_solver, lowering.capacities());
    for (int time = 0; time < 8; ++time) {
      std::vector<std::vector<double>> left;
      std::vector<SharedRates::Member> group;
      StageSolver solver(lowering.capacities().counts());
      solver.begin();
      std::vector<std::uint32_t> some;  // later groups have some stages of earlier ones
      for (std::uint32_t s = 0; s < stages.size(); ++s)
        if (random.below(4) > 0) some.push_back(s);
      for (const std::uint32_t s : some) {
        left.emplace_back();
        for (std::uint32_t f = 0; f < stages[s].fluids.size(); ++f) {
          left.back().push_back(random.below(3) > 0 ? 1 : 0);
          if (left.back()[f] > 0) solver.add(stages[s], f, [&](CapacityId c) { return lowering.capacities().rate(c); });
        }
      }
      for (std::size_t i = 0; i < some.size(); ++i) group.push_back({some[i], &stages[some[i]], left[i]});
      const auto truth = solver.solve();
      const auto found = rates.of(group);
      ASSERT_EQ(found.size(), truth.size()) << "seed " << seed;
      for (std::size_t i = 0; i < truth.size(); ++i)
        ASSERT_NEAR(found[i] / truth[i], 1, 1e-14) << seed << " at " << time;
    }
  }
}

TEST_F(SharedRatesOfStages, OverKeptLinksAreThoseOverAllLinks) {
  const auto rate_of = [&](CapacityId c) { return lowering.capacities().rate(c); };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed, "kept links");
    std::vector<Stage> stages{random_stage(random, links, 200), random_stage(random, links, 200)};
    Shortcuts noted;
    noted.taken = std::make_shared<std::atomic<std::uint64_t>>(0);
    StageSolver kept_solver(lowering.capacities().counts(), noted), solver(lowering.capacities().counts());
    SharedRates rates(kept_solver, lowering.capacities());
    for (int time = 0; time < 12; ++time) {
      std::vector<std::vector<double>> left(2);
      solver.begin();
      for (std::uint32_t s = 0; s < 2; ++s)
        for (std::uint32_t f = 0; f < stages[s].fluids.size(); ++f) {
          left[s].push_back(random.below(4) > 0 ? 1 : 0);
          if (left[s][f] > 0) solver.add(stages[s], f, rate_of);
        }
      const std::vector<SharedRates::Member> group{{0, &stages[0], left[0]}, {1, &stages[1], left[1]}};
      const auto truth = solver.solve();
      const auto found = rates.of(group);
      ASSERT_EQ(found.size(), truth.size());
      for (std::size_t i = 0; i < truth.size(); ++i) ASSERT_NEAR(found[i] / truth[i], 1, 1e-12) << seed << ' ' << time;
    }
  }
}

}  // namespace
}  // namespace busbar
