#include "busbar/engine/flow/internal/kept_rates.h"

#include <gtest/gtest.h>

#include "busbar/engine/flow/internal/flow_engine.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::engine {
namespace {

using Left = std::vector<double>;

std::vector<double>& rates_of(KeptRates& kept, std::uint32_t version, std::uint32_t stage, const Left& left) {
  kept.begin(version);
  kept.add(stage, left);
  return kept.of_group();
}

TEST(KeptRates, AreOfTheSameStagesWithTheSameFluidsOpen) {
  KeptRates kept;
  const Left solved{0.25, 0.75};
  std::vector<double>& place = rates_of(kept, 1, 7, {3, 0, 5});
  EXPECT_TRUE(place.empty());
  kept.keep(place, solved);
  EXPECT_EQ(rates_of(kept, 1, 7, {1, 0, 2}), solved);       // how much is left decides nothing
  EXPECT_TRUE(rates_of(kept, 1, 7, {3, 5, 0}).empty());     // another fluid has ended
  EXPECT_TRUE(rates_of(kept, 1, 7, {3, 0, 5, 0}).empty());  // a longer stage
  EXPECT_TRUE(rates_of(kept, 1, 8, {3, 0, 5}).empty());     // another stage
  EXPECT_EQ(rates_of(kept, 1, 7, {9, 0, 9}), solved);       // still known
  EXPECT_TRUE(rates_of(kept, 2, 7, {3, 0, 5}).empty());     // stages are folded in another way
  EXPECT_TRUE(rates_of(kept, 1, 7, {3, 0, 5}).empty());     // and what was known before is gone
}

TEST(KeptRates, TellFluidsBeyondTheFirst64Apart) {
  KeptRates kept;
  Left left(130, 1.0);
  left[129] = 0;
  kept.keep(rates_of(kept, 1, 1, left), Left(129, 2.0));
  std::swap(left[129], left[65]);
  EXPECT_TRUE(rates_of(kept, 1, 1, left).empty());
}

collectives::GroupFamily group_of(std::vector<std::uint32_t> ranks) {
  collectives::GroupFamily g;
  g.listed = std::move(ranks);
  g.listed_groups = 1;
  return g;
}

/// Ends of all-to-alls and rings that meet on a leaf-spine in several ways, each with its tag.
std::vector<std::pair<std::uint64_t, std::int64_t>> ends_of_meetings(Engine& e, SimTime at) {
  program::CollectiveCall all = lowering::test_call(8, "pairwise", 64'000'000),
                          ring = lowering::test_call(4, "ring", 96'000'000);
  all.op = collectives::Collective::kAllToAll;
  ring.groups = group_of({0, 2, 4, 6});
  program::CollectiveCall other = ring;
  other.groups = group_of({1, 2, 5, 7});
  std::uint64_t tag = 0;
  for (const int meeting : {0, 1, 2}) {
    const auto start = [&](const program::CollectiveCall& call, double us) {
      e.start(e.prepare(call).value(), tag++, at + Duration::us(20'000.0 * meeting + us));
    };
    start(all, 0);
    start(ring, 300.0 * meeting);
    start(other, 700.0 * meeting);
  }
  std::vector<std::pair<std::uint64_t, std::int64_t>> out;
  while (const auto done = e.advance(SimTime::max())) out.emplace_back(done->tag, done->at.since_start().in_ps());
  return out;
}

TEST(KeptRates, ChangeNoTimeOfCallsThatMeet) {
  const topology::Topology topology = lowering::leaf_spine(8, 2).seal();
  const routing::Router router(topology, topology::RoutingPolicy::kSpray);
  const routing::Placement placement(router, topology.gpus());
  FlowEngine used(router, placement, {}), fresh(router, placement, {});
  const SimTime later = SimTime::at(Duration::us(1'000'000));
  const auto before = ends_of_meetings(used, SimTime());
  const auto again = ends_of_meetings(used, later), first = ends_of_meetings(fresh, later);
  ASSERT_EQ(before.size(), 9u);
  EXPECT_EQ(again, first);
}

}  // namespace
}  // namespace busbar::engine
