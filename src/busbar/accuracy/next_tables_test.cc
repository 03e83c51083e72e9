#include "busbar/accuracy/next_tables.h"

#include <gtest/gtest.h>

namespace busbar::accuracy {
namespace {

using collectives::Collective;

WaitedCall waited(Collective op, double bytes, double waits_s) {
  return {{op, 8, false, "ring simple", bytes, 0.9}, waits_s, "0:8"};
}

TEST(NextTables, TheBestIsOfTheCallsThatWaitLongest) {
  const auto next = next_tables({waited(Collective::kAllGather, 1e6, 0.1), waited(Collective::kAllReduce, 1e8, 0.5),
                                 waited(Collective::kAllGather, 1e7, 0.1)},
                                {}, 2);
  ASSERT_EQ(next.size(), 2u);
  EXPECT_EQ(next[0].op, Collective::kAllReduce);
  EXPECT_LT(next[0].after_percent, next[0].before_percent);
  EXPECT_EQ(next[1].low_bytes, 1e6);
  EXPECT_EQ(next[1].high_bytes, 1e7);
}

TEST(NextTables, WhatWasMeasuredIsNotAskedForAgain) {
  const WaitedCall reduce = waited(Collective::kAllReduce, 1e8, 0.5), gather = waited(Collective::kAllGather, 1e8, 0.3);
  const auto next = next_tables({reduce, gather}, {{reduce.call, 1.4, 1}}, 2);
  EXPECT_EQ(next[0].op, Collective::kAllGather);
}

TEST(NextTables, ACallThatNothingWaitsForNeedsNoTable) {
  EXPECT_TRUE(next_tables({waited(Collective::kAllReduce, 1e8, 0)}, {}, 2).empty());
}

}  // namespace
}  // namespace busbar::accuracy
