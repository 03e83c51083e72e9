// When the last of the fluids that share links ends.
#include <gtest/gtest.h>

#include <cmath>

#include "busbar/engine/stage_solver.h"
#include "busbar/lowering/components.h"
#include "busbar/lowering/test_machines.h"
#include "busbar/lowering/test_network.h"
#include "busbar/lowering/test_stage.h"

namespace busbar::engine {
namespace {

/// One link of 0.45 bytes per ps. A slow fluid with a hundredth of the load and less than its fair share as cap, and 40
/// others.
class SharedLink : public ::testing::Test {
 protected:
  /// Bytes of the slow fluid and of each of 40 others, as times of the link in ps.
  double run(double slow_ps, double other_ps, double slow_cap_ps, double most_visits) {
    lowering::HandMadeStage s;
    s.add(kRate * slow_ps, slow_cap_ps, {0});
    for (int f = 0; f < 40; ++f) s.add(kRate * other_ps / 40, other_ps / 40, {0});
    lowering::ComponentSplitter splitter({});
    splitter.resize(lowering_.capacities().counts());
    splitter.split(s.stage, [&](routing::CapacityId c) { return lowering_.capacities().rate(c); });
    EXPECT_EQ(s.stage.components.size(), 1u);
    StageSolver solver(lowering_.capacities().counts(), {.most_visits = most_visits});
    return run_component(solver, lowering_.capacities(), s.stage, s.stage.components[0], INFINITY, nullptr);
  }
  static constexpr double kRate = 0.45;
  lowering::TestNetwork ground_{std::move(lowering::one_switch(2)).seal()};
  lowering::Lowering lowering_{ground_.router, ground_.placement, {}};
};

TEST_F(SharedLink, TakesItsLoadWhereItIsFullToTheEnd) {
  for (const double most_visits : {3e8, 1500.0}) EXPECT_NEAR(run(1e5, 9.9e6, 8e6, most_visits), 10e6, 1) << most_visits;
}

TEST_F(SharedLink, TakesLongerWhereItIsNotFullAtTheEnd) {
  for (const double most_visits : {3e8, 1500.0})
    EXPECT_NEAR(run(1e5, 9.9e6, 12e6, most_visits), 12e6, 1) << most_visits;
}

}  // namespace
}  // namespace busbar::engine
