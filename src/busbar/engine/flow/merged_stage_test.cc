#include "busbar/engine/flow/internal/merged_stage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "busbar/base/random.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::engine {
namespace {

constexpr double kMergedBytes = 1e6;

class MergedStages : public testing::Test {
 protected:
  /// Fluids of equal bytes over one to four links each.
  lowering::Stage stage_of(std::uint64_t seed) const {
    RandomStream random(seed, "fluids of equal rate");
    lowering::Stage s;
    for (std::uint64_t f = 0; f < 40; ++f) {
      lowering::Fluid fluid{static_cast<std::uint32_t>(s.on.size()), 0, kMergedBytes, 0};
      const std::uint64_t first = random.below(t.link_count() - 4);
      for (std::uint64_t i = 0, n = 1 + random.below(4); i < n; ++i) {
        s.on.push_back(topology::LinkId{static_cast<std::uint32_t>(first + i)});
        s.weight.push_back(0.5 * static_cast<double>(1 + random.below(2)));
        fluid.alone_ps = std::max(fluid.alone_ps, kMergedBytes * s.weight.back() / rate_of(s.on.back()));
      }
      if (random.below(4) == 0) fluid.alone_ps *= 2;
      fluid.end = static_cast<std::uint32_t>(s.on.size());
      s.fluids.push_back(fluid);
    }
    split(s);
    return s;
  }
  void split(lowering::Stage& s) const {
    lowering::ComponentSplitter splitter({});
    splitter.resize(table.counts());
    splitter.split(s, [&](routing::CapacityId c) { return rate_of(c); });
  }
  double rate_of(routing::CapacityId c) const { return table.rate(c); }
  double time_of(const lowering::Stage& s) {
    double longest = 0;
    for (const lowering::Component& c : s.components)
      longest = std::max(longest, run_component(solver, table, s, c, INFINITY, nullptr));
    return longest;
  }
  static std::map<routing::CapacityId, double> loads_of(const lowering::Stage& s) {
    std::map<routing::CapacityId, double> out;
    for (const lowering::Fluid& f : s.fluids)
      for (std::uint32_t i = f.begin; i < f.end; ++i) out[s.on[i]] += f.bytes * s.weight[i];
    return out;
  }
  const topology::Topology t = lowering::leaf_spine(4, 4).seal();
  const routing::Router router{t, topology::RoutingPolicy::kStatic};
  const routing::Placement placement{router, t.gpus()};
  const lowering::Lowering lowering{router, placement, {}};
  const lowering::CapacityTable& table = lowering.capacities();
  StageSolver solver{table.counts(), {.fluids_apart = 8}};
};

TEST_F(MergedStages, TakeAsLongAloneAndLoadEveryLinkAlike) {
  StageMerger merger(solver, table);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const lowering::Stage apart = stage_of(seed);
    const std::optional<lowering::Stage> merged = merger.merged(apart);
    ASSERT_TRUE(merged) << "seed " << seed;
    EXPECT_LT(merged->fluids.size(), apart.fluids.size());
    EXPECT_NEAR(time_of(*merged) / time_of(apart), 1, 1e-9) << "seed " << seed;
    const auto loads = loads_of(apart), together = loads_of(*merged);
    ASSERT_EQ(loads.size(), together.size());
    for (const auto& [link, bytes] : loads) EXPECT_NEAR(together.at(link) / bytes, 1, 1e-12);
  }
}

TEST_F(MergedStages, LeaveUnequalBytesAndFewFluidsAlone) {
  StageMerger merger(solver, table);
  lowering::Stage unequal = stage_of(0), few = stage_of(0);
  unequal.fluids[3].bytes *= 2;
  few.fluids.resize(7);
  EXPECT_FALSE(merger.merged(unequal));
  EXPECT_FALSE(merger.merged(few));
}

}  // namespace
}  // namespace busbar::engine
