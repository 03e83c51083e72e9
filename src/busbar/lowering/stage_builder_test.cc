#include "busbar/lowering/internal/stage_builder.h"

#include <gtest/gtest.h>

#include "busbar/lowering/test_machines.h"

namespace busbar::lowering {
namespace {

constexpr double kRate = 0.45;  // bytes per ps of a link of one_switch()

class Stages : public ::testing::Test {
 protected:
  /// A connection of `latency_ps` that puts `bytes` on each of these links.
  void cross(std::initializer_list<std::uint32_t> links, double bytes, double latency_ps) {
    for (const std::uint32_t l : links) {
      builder_.cross(topology::LinkId{l}, latency_ps);
      loads_.add(topology::LinkId{l}, bytes);
    }
  }
  topology::Topology topology_ = std::move(one_switch(4)).seal();
  routing::Router router_{topology_, topology::RoutingPolicy::kStatic};
  CapacityTable table_{router_, {}};
  RunLoads loads_{table_.counts()};
  StageBuilder builder_{table_, {}};
};

TEST_F(Stages, PayTheLeastLatencyOfTheBusiestLinkBeforeTheBytes) {
  builder_.begin(3);
  cross({0, 2}, 4500, 700);
  builder_.emit(loads_, 4500, 100);
  cross({0, 4}, 9000, 500);
  builder_.emit(loads_, 9000, 100);
  const Stage stage = builder_.finish();
  EXPECT_EQ(stage.step, 3u);
  EXPECT_EQ(stage.busiest, topology::LinkId{0});
  EXPECT_NEAR(stage.load_ps, 13500 / kRate, 1e-6);
  EXPECT_EQ(stage.latency_ps, 500);
  ASSERT_EQ(stage.fluids.size(), 2u);
  EXPECT_EQ(stage.components.size(), 1u);
  // Link 0 has the largest load and the least latency 500, which is paid before the bytes of both.
  EXPECT_NEAR(stage.fluids[0].alone_ps, 4500 / kRate + 700 - 500, 1e-6);
  EXPECT_NEAR(stage.fluids[1].alone_ps, 9000 / kRate, 1e-6);
  EXPECT_EQ(stage.slowest_alone_ps, stage.fluids[1].alone_ps);
}

TEST_F(Stages, LastAsLongAsTheLinkWithTheLargestSumOfLoadAndLatency) {
  builder_.begin(0);
  cross({0}, 4500, 0);
  builder_.emit(loads_, 4500, 0);
  cross({2}, 4400, 1e6);
  builder_.emit(loads_, 4400, 0);
  const Stage stage = builder_.finish();
  EXPECT_EQ(stage.busiest, topology::LinkId{2});
  EXPECT_EQ(stage.latency_ps, 0);
  EXPECT_NEAR(stage.load_ps, 4500 / kRate, 1e-6);
  EXPECT_NEAR(stage.slowest_alone_ps, 4400 / kRate + 1e6, 1e-6);
}

// Two fluids on the link with the largest sum: each lasts until its last byte, that on the other link does not.
TEST_F(Stages, LetAllFluidsOfThatLinkLastSoLong) {
  builder_.begin(0);
  cross({0}, 4500, 0);
  builder_.emit(loads_, 4500, 0);
  for (int i = 0; i < 2; ++i) {
    cross({2}, 2200, 1e6);
    builder_.emit(loads_, 2200, 0);
  }
  const Stage stage = builder_.finish();
  ASSERT_EQ(stage.fluids.size(), 3u);
  EXPECT_NEAR(stage.fluids[0].alone_ps, 4500 / kRate, 1e-6);
  for (const std::size_t f : {1u, 2u}) EXPECT_NEAR(stage.fluids[f].alone_ps, 4400 / kRate + 1e6, 1e-6);
}

TEST_F(Stages, KeepALatencyThatTheCallerKnows) {
  builder_.begin(0);
  builder_.stage.latency_ps = 42;
  cross({0}, 4500, 17);
  builder_.emit_free(loads_, 4500, 11);
  const Stage stage = builder_.finish();
  EXPECT_EQ(stage.latency_ps, 42);
  EXPECT_EQ(stage.fluids.at(0).alone_ps, 11);
}

TEST_F(Stages, ForgetWhatAnUnfinishedOneHeld) {
  builder_.begin(0);
  cross({0}, 4500, 17);
  builder_.emit(loads_, 4500, 0);
  builder_.begin(1);
  cross({0}, 9000, 30);
  builder_.emit(loads_, 9000, 0);
  const Stage stage = builder_.finish();
  EXPECT_EQ(stage.fluids.size(), 1u);
  EXPECT_EQ(stage.latency_ps, 30);
  builder_.begin(2);
  EXPECT_TRUE(builder_.finish().fluids.empty());
}

TEST_F(Stages, HaveWeightsPerByteOfTheBusiestConnection) {
  builder_.begin(0);
  cross({0}, 3000, 0);
  cross({0, 2}, 6000, 0);
  builder_.emit(loads_, 6000, 0);
  const Stage stage = builder_.finish();
  EXPECT_EQ(stage.on, (std::vector<routing::CapacityId>{topology::LinkId{0}, topology::LinkId{2}}));
  EXPECT_EQ(stage.weight, (std::vector<double>{1.5, 1}));
}

TEST(RunLoads, AreInTheOrderOfTheFirstLoadAndCanBePutBack) {
  const routing::CapacityCounts counts{4, 1, 1};
  RunLoads loads(counts);
  loads.add(topology::LinkId{3}, 5);
  loads.add(routing::CapacityId::bundle(0), 7);
  loads.add(topology::LinkId{3}, 2);
  EXPECT_EQ(loads.on(), (std::vector<routing::CapacityId>{topology::LinkId{3}, routing::CapacityId::bundle(0)}));
  EXPECT_EQ(loads.longest_ps(3, [](routing::CapacityId) { return 2.0; }), 3.5);
  EXPECT_EQ(loads.longest_ps(4, [](routing::CapacityId) { return 2.0; }), 4);
  const RunLoads::Kept kept = loads.take();
  EXPECT_TRUE(loads.on().empty());
  EXPECT_EQ(loads[topology::LinkId{3}], 0);
  for (const auto& [c, bytes] : kept) loads.add(c, bytes);
  EXPECT_EQ(loads[topology::LinkId{3}], 7);
  EXPECT_EQ(loads[routing::CapacityId::bundle(0)], 7);
}

}  // namespace
}  // namespace busbar::lowering
