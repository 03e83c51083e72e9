// The index of sizes against lowering every size afresh.
#include "busbar/engine/size_index.h"

#include <gtest/gtest.h>

#include <cmath>

#include "busbar/base/random.h"
#include "busbar/engine/random_machine.h"
#include "busbar/engine/test_ground.h"
#include "busbar/engine/test_machines.h"

namespace busbar {
namespace {

void expect_as_lowered(Lowering& lowering, CollectiveCall call, RandomStream& random, int queries) {
  const auto index = SizeIndex::make(lowering, call, Bytes{1}, Bytes{64 * kGiB});
  ASSERT_TRUE(index.ok()) << index.error().text();
  for (int q = 0; q < queries; ++q) {
    call.bytes = static_cast<Bytes>(std::max(1.0, std::exp2(random.uniform() * 36)));
    const double truth = closed_form_ps(lowering.lower(call).value());
    EXPECT_NEAR(index->time_ps(call.bytes), truth, truth * 1e-6)
        << call.algorithm << " " << name_of(call.op) << " of " << count(call.bytes) << " over " << call.groups.size()
        << " in " << call.chunks;
  }
}

TEST(SizeIndex, AnswersAsALoweringOfEverySizeWould) {
  RandomStream random(11, "sizes");
  std::uint32_t indexed = 0;
  for (int i = 0; i < 60; ++i) {
    const Ground m(random_machine(random));
    Lowering lowering(m.router, m.placement, some_protocol());
    const char* const algorithms[] = {"ring", "tree", "hierarchical", "halving_doubling", "nvls", "direct", "pairwise"};
    const Collective ops[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kBroadcast,
                              Collective::kAllToAll};
    CollectiveCall call = test_call(m.gpus(), algorithms[random.below(7)], 1, random.below(3) == 0 ? 3 : 0);
    call.op = ops[random.below(4)];
    if (!lowering.lower(call).ok()) continue;
    ++indexed;
    expect_as_lowered(lowering, call, random, 12);
  }
  EXPECT_GT(indexed, 20u);
}

TEST(SizeIndex, KnowsWhereCallsBecomeLargeEnoughForFurtherChannels) {
  RandomStream random(12, "channels");
  const Ground m(pods_of_eight(4).seal());
  Lowering lowering(m.router, m.placement, some_protocol());
  expect_as_lowered(lowering, test_call(32, "ring", 1, 0), random, 200);
  expect_as_lowered(lowering, test_call(32, "tree", 1, 0), random, 200);
}

TEST(SizeIndex, TakesFewLoweringsOnASoundMachine) {
  const Ground m(pods_of_eight(16).seal());
  Lowering lowering(m.router, m.placement, some_protocol());
  for (const char* algorithm : {"ring", "tree", "hierarchical"}) {
    const auto index = SizeIndex::make(lowering, test_call(128, algorithm, 1, 0), Bytes{1}, Bytes{64 * kGiB});
    EXPECT_LE(index.value().lowerings(), 400u) << algorithm;
  }
}

}  // namespace
}  // namespace busbar
