// Sets of fluids that share links: which are equal, and when their last fluid ends.
#include <gtest/gtest.h>

#include <cmath>

#include "busbar/engine/stage_solver.h"
#include "busbar/lowering/components.h"
#include "busbar/lowering/test_ground.h"
#include "busbar/lowering/test_machines.h"

namespace busbar {
namespace {

/// Fluids by the links that they cross, all of weight 1; `alone_ps` sets their caps.
struct HandMadeStage {
  Stage stage;
  void add(double bytes, double alone_ps, std::initializer_list<std::uint32_t> links) {
    const auto begin = static_cast<std::uint32_t>(stage.on.size());
    for (const std::uint32_t l : links) stage.on.push_back(LinkId{l}), stage.weight.push_back(1);
    stage.fluids.push_back({begin, static_cast<std::uint32_t>(stage.on.size()), bytes, alone_ps});
  }
};

/// Two pairs of fluids. Alone every fluid is as fast as its own link; together each pair fills the link it shares.
TEST(Components, AreEqualOnlyOnLinksOfEqualRates) {
  for (const double other : {60.0, 80.0}) {
    HandMadeStage s;
    for (const std::uint32_t pair : {0u, 1u})
      for (const std::uint32_t f : {0u, 1u}) s.add(100, 2, {2 * pair + f, 4 + pair});
    const std::vector<double> rates{50, 50, 50, 50, 60, other};
    ComponentSplitter splitter({});
    splitter.resize({static_cast<std::uint32_t>(rates.size())});
    splitter.split(s.stage, [&](CapacityId c) { return rates[c.number()]; });
    ASSERT_EQ(s.stage.components.size(), 2u);
    EXPECT_EQ(s.stage.kinds, other == 60 ? 1u : 2u);
  }
}

/// One link of 0.45 bytes per ps. A slow fluid with a hundredth of the load and less than its fair share as cap, and 40
/// others.
class SharedLink : public ::testing::Test {
 protected:
  /// Bytes of the slow fluid and of each of 40 others, as times of the link in ps.
  double run(double slow_ps, double other_ps, double slow_cap_ps, double most_visits) {
    HandMadeStage s;
    s.add(kRate * slow_ps, slow_cap_ps, {0});
    for (int f = 0; f < 40; ++f) s.add(kRate * other_ps / 40, other_ps / 40, {0});
    ComponentSplitter splitter({});
    splitter.resize(lowering_.capacities().counts());
    splitter.split(s.stage, [&](CapacityId c) { return lowering_.capacities().rate(c); });
    EXPECT_EQ(s.stage.components.size(), 1u);
    StageSolver solver(lowering_.capacities().counts(), {.most_visits = most_visits});
    return run_component(solver, lowering_.capacities(), s.stage, s.stage.components[0], INFINITY, nullptr);
  }
  static constexpr double kRate = 0.45;
  Ground ground_{std::move(one_switch(2)).seal()};
  Lowering lowering_{ground_.router, ground_.placement, {}};
};

TEST_F(SharedLink, TakesItsLoadWhereItIsFullToTheEnd) {
  for (const double most_visits : {3e8, 1500.0}) EXPECT_NEAR(run(1e5, 9.9e6, 8e6, most_visits), 10e6, 1) << most_visits;
}

TEST_F(SharedLink, TakesLongerWhereItIsNotFullAtTheEnd) {
  for (const double most_visits : {3e8, 1500.0}) EXPECT_NEAR(run(1e5, 9.9e6, 12e6, most_visits), 12e6, 1) << most_visits;
}

}  // namespace
}  // namespace busbar
