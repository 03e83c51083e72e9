#include "busbar/solve/end_queue.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "busbar/base/random.h"

namespace busbar::solve {
namespace {

// Against an ordered set of (time, item), with times that often tie, while times move both ways and items go.
TEST(EndQueue, GivesItemsInOrderOfTimeAndNumber) {
  RandomStream random(1, "end queue");
  for (const std::uint32_t items : {1u, 2u, 3u, 7u, 40u}) {
    EndQueue queue;
    queue.reset(items);
    std::set<std::pair<std::int64_t, std::uint32_t>> expected;
    std::vector<std::int64_t> time_of(items, -1);  // -1: not in the queue
    for (int step = 0; step < 3000; ++step) {
      const auto item = static_cast<std::uint32_t>(random.below(items));
      if (time_of[item] >= 0) expected.erase({time_of[item], item});
      if (random.below(3) == 0) {
        queue.erase(item);
        time_of[item] = -1;
      } else {
        time_of[item] = static_cast<std::int64_t>(random.below(2 * items));
        queue.set(item, time_of[item]);
        expected.insert({time_of[item], item});
      }
      ASSERT_EQ(queue.empty(), expected.empty());
      if (expected.empty()) continue;
      ASSERT_EQ(queue.next_ps(), expected.begin()->first);
      ASSERT_EQ(queue.next_item(), expected.begin()->second);
    }
    for (const auto& [ps, item] : expected) {
      ASSERT_EQ(queue.next_ps(), ps);
      ASSERT_EQ(queue.next_item(), item);
      queue.erase(item);
    }
    EXPECT_TRUE(queue.empty());
  }
}

TEST(EndQueue, ForgetsItsItemsWhenItIsReset) {
  EndQueue queue;
  queue.reset(2);
  queue.set(1, 5);
  queue.reset(3);
  EXPECT_TRUE(queue.empty());
  queue.erase(1);  // of an item that is not there: nothing
  queue.set(2, 7);
  queue.set(1, 9);
  EXPECT_EQ(queue.next_item(), 2u);
}

}  // namespace
}  // namespace busbar::solve
