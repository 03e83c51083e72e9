// Which calls say that their time is counted more simply than message by message: docs/models/flow.md.
#include "busbar/lowering/simplification.h"

#include <gtest/gtest.h>

#include "busbar/lowering/test_lowered.h"
#include "busbar/lowering/test_machines.h"

namespace busbar::lowering {
namespace {

/// What all stages of a call say.
Simplifications simplified(const TestNetwork& m, program::CollectiveCall call, collectives::Collective op) {
  call.op = op;
  Simplifications out;
  for (const Stage& s : try_lower(m, call).value().stages) out.add(s.simplified);
  return out;
}

void expect_only(const Simplifications& said, std::vector<Simplification> expected) {
  std::vector<Simplification> found;
  said.for_each([&](Simplification s) { found.push_back(s); });
  EXPECT_EQ(found, expected);
}

TEST(Simplified, AreRoundsOfMoreSendsThanAreFollowed) {
  // 64 ranks have 63 rounds of 64 sends, just below 4,096; 65 have 64 of 65.
  expect_only(simplified(TestNetwork(one_switch(64).seal()), test_call(64, "pairwise", kGiB),
                         collectives::Collective::kAllToAll),
              {});
  expect_only(simplified(TestNetwork(one_switch(65).seal()), test_call(65, "pairwise", kGiB),
                         collectives::Collective::kAllToAll),
              {Simplification::kRoundsApart});
}

TEST(Simplified, ArePhasesInTurnButNotOne) {
  const TestNetwork m(pods_of_eight(2).seal());
  expect_only(simplified(m, test_call(16, "hierarchical", kGiB), collectives::Collective::kAllReduce),
              {Simplification::kPhasesInTurn});
  expect_only(simplified(m, test_call(16, "hierarchical", 16), collectives::Collective::kAllReduce),
              {});  // latency alone
  expect_only(simplified(m, test_call(16, "direct", kGiB), collectives::Collective::kAllToAll), {});
}

TEST(Simplified, AreTreesOfWhichOnlyTheFirstChunkIsFollowed) {
  // Two trees, each up and down: 4 x (n - 1) sends; of two chunks over 1,025 ranks 8,192.
  for (const auto& [n, first] : {std::pair(1025u, false), {1026u, true}}) {
    const TestNetwork m(one_switch(n).seal());
    std::vector<Simplification> expected;
    if (first) expected.push_back(Simplification::kFirstChunk);
    expect_only(simplified(m, test_call(n, "tree", kGiB, 2), collectives::Collective::kAllReduce), expected);
    expect_only(simplified(m, test_call(n, "tree", kGiB, 1), collectives::Collective::kAllReduce), {});
  }
}

TEST(Simplified, AreReductionsByTreesThatMeetInOnePiece) {
  const TestNetwork m(pods_of_eight(2).seal());
  expect_only(simplified(m, test_call(16, "tree", kGiB), collectives::Collective::kReduce),
              {Simplification::kOnePieceTrees});
  expect_only(simplified(m, test_call(16, "tree", kGiB), collectives::Collective::kBroadcast), {});
  expect_only(simplified(m, test_call(16, "tree", kGiB, 4), collectives::Collective::kReduce), {});
}

}  // namespace
}  // namespace busbar::lowering
