#include "busbar/lowering/internal/hop_times.h"

#include <gtest/gtest.h>

#include "busbar/lowering/test_machines.h"

namespace busbar::lowering {
namespace {

constexpr double kLinkRate = 0.45, kLatency = 700;  // bytes per ps of a link of one_switch(); ps

class Hops : public ::testing::Test {
 protected:
  /// A chain from the root over these links, `bytes` on each, or the same towards the root.
  static RoutedRun chain(std::initializer_list<std::uint32_t> links, double bytes) {
    RoutedRun run;
    for (const std::uint32_t l : links) {
      const auto at = static_cast<std::uint32_t>(run.path.size());
      run.path.push_back({topology::LinkId{l}, 1});
      run.connections.push_back({at, at + 1, bytes, kLatency});
      run.connections.back().toward_root = at == 0 ? kNone32 : at - 1;
    }
    return run;
  }
  topology::Topology topology_ = std::move(one_switch(8)).seal();
  routing::Router router_{topology_, topology::RoutingPolicy::kStatic};
  CapacityTable table_{router_, {}};
  HopTimes times_{table_};
};

TEST_F(Hops, OfAChainCostAllHopsOnceAndOneTransferForEachFurtherChunk) {
  for (const bool up : {false, true})
    for (const std::uint32_t chunks : {1u, 5u}) {
      RoutedRun run = chain({0, 2, 4}, 4500);
      const std::vector<double> end = times_.send(std::vector<HopRun>{{&run, up}}, chunks, 0, {});
      ASSERT_EQ(end.size(), 1u);
      EXPECT_NEAR(end[0], 3 * (10'000 + kLatency) + (chunks - 1) * 10'000, 1e-6) << chunks;
    }
}

TEST_F(Hops, ShareALinkWhenTheyComeAtOneTimeAndWaitWhenTheyComeLater) {
  RoutedRun a = chain({0}, 4500), b = chain({0}, 4500), late = chain({2, 0}, 450);
  const std::vector<HopRun> together{{&a, false, 0}, {&b, false, 1}};
  const std::vector<double> both = times_.send(together, 1, 0, {});
  EXPECT_NEAR(both[0], 20'000 + kLatency, 1e-6);
  EXPECT_NEAR(both[1], 20'000 + kLatency, 1e-6);
  const std::vector<double> queued = times_.send(std::vector<HopRun>{{&a, false, 0}, {&late, false, 1}}, 1, 0, {});
  EXPECT_NEAR(queued[0], 10'000 + kLatency, 1e-6);
  EXPECT_NEAR(queued[1], 11'000 + kLatency, 1e-6);  // it came after 1,700 ps, when the link was taken until 10,000
}

TEST_F(Hops, OfAStageThatWaitsBeginWhenTheStageBeforeHasEnded) {
  RoutedRun first = chain({0, 2}, 4500), second = chain({4}, 4500);
  const std::vector<HopRun> runs{{&first, true, 0, false}, {&second, false, 1, true}};
  const std::vector<double> end = times_.send(runs, 1, 0, {});
  EXPECT_NEAR(end[0], 2 * (10'000 + kLatency), 1e-6);
  EXPECT_NEAR(end[1], 3 * (10'000 + kLatency), 1e-6);
}

TEST_F(Hops, AreNoFasterThanTheCapOfAConnectionAndCountTheFlagsOfTheProtocol) {
  RoutedRun run = chain({0}, 4500);
  const std::vector<HopRun> runs{{&run, false}};
  EXPECT_NEAR(times_.send(runs, 1, kLinkRate / 4, {})[0], 40'000 + kLatency, 1e-6);
  EXPECT_NEAR(times_.send(runs, 1, 0, {2, 3})[0], 20'000 + kLatency, 1e-6);
  EXPECT_NEAR(run.connections[0].transfer_ps, 20'000, 1e-6);
}

}  // namespace
}  // namespace busbar::lowering
