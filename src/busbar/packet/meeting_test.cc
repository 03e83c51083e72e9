#include "busbar/packet/internal/meeting.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace busbar::packet {
namespace {

TEST(Meeting, NobodyLeavesBeforeAllHaveArrived) {
  constexpr std::uint32_t kMembers = 3, kRounds = 2000;
  Meeting meeting(kMembers);
  std::vector<std::uint32_t> rounds(kMembers), wrong(kMembers);
  std::vector<std::thread> threads;
  for (std::uint32_t m = 0; m < kMembers; ++m)
    threads.emplace_back([&, m] {
      // One looks long, one sleeps at once, one is late now and then.
      std::chrono::nanoseconds look = m == 0 ? Meeting::kLongest : Meeting::kShortest;
      for (std::uint32_t r = 1; r <= kRounds; ++r) {
        if (m == 2 && r % 100 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
        rounds[m] = r;
        meeting.arrive_and_wait(look);
        for (const std::uint32_t other : rounds) wrong[m] += other != r ? 1 : 0;
        meeting.arrive_and_wait(look);
        EXPECT_LE(look, Meeting::kLongest);
        EXPECT_GE(look, Meeting::kShortest);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<std::uint32_t>(kMembers, 0));
}

TEST(Meeting, WhoWaitsInVainLooksShorter) {
  Meeting meeting(2);
  std::chrono::nanoseconds look = Meeting::kLongest;
  std::thread late([&meeting] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::chrono::nanoseconds own = Meeting::kLongest;
    meeting.arrive_and_wait(own);
  });
  meeting.arrive_and_wait(look);
  late.join();
  EXPECT_EQ(look, Meeting::kLongest / 2);
}

}  // namespace
}  // namespace busbar::packet
