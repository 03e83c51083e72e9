#include "busbar/packet/internal/spin_barrier.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace busbar::packet {
namespace {

TEST(SpinBarrier, NobodyLeavesBeforeAllHaveArrived) {
  constexpr std::uint32_t kMembers = 3, kRounds = 2000;
  SpinBarrier barrier(kMembers);
  std::vector<std::uint32_t> rounds(kMembers), wrong(kMembers);
  std::vector<std::thread> threads;
  for (std::uint32_t m = 0; m < kMembers; ++m)
    threads.emplace_back([&, m] {
      // One looks long, one sleeps at once, one is late now and then.
      std::chrono::nanoseconds look = m == 0 ? SpinBarrier::kLongest : SpinBarrier::kShortest;
      for (std::uint32_t r = 1; r <= kRounds; ++r) {
        if (m == 2 && r % 100 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
        rounds[m] = r;
        barrier.arrive_and_wait(look);
        for (const std::uint32_t other : rounds) wrong[m] += other != r ? 1 : 0;
        barrier.arrive_and_wait(look);
        EXPECT_LE(look, SpinBarrier::kLongest);
        EXPECT_GE(look, SpinBarrier::kShortest);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<std::uint32_t>(kMembers, 0));
}

TEST(SpinBarrier, WhoWaitsInVainLooksShorter) {
  SpinBarrier barrier(2);
  std::chrono::nanoseconds look = SpinBarrier::kLongest;
  std::thread late([&barrier] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::chrono::nanoseconds own = SpinBarrier::kLongest;
    barrier.arrive_and_wait(own);
  });
  barrier.arrive_and_wait(look);
  late.join();
  EXPECT_EQ(look, SpinBarrier::kLongest / 2);
}

}  // namespace
}  // namespace busbar::packet
