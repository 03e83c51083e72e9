#include "busbar/packet/internal/event_queue.h"

#include <gtest/gtest.h>

#include <set>

#include "busbar/base/random.h"
#include "busbar/packet/internal/port.h"

namespace busbar::packet {
namespace {

/// Compares with an ordered set: sources come back after random times, sometimes long ones.
TEST(EventQueue, GivesEventsByTimeThenBySource) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomStream random(seed, "events");
    const auto sources = static_cast<std::uint32_t>(1 + random.below(300));
    EventQueue queue(static_cast<int>(3 + random.below(12)));
    queue.reserve(sources);
    std::set<std::pair<Ps, std::uint32_t>> expected;
    const auto push = [&](std::uint32_t s, Ps now) {
      const Ps wait =
          random.below(50) == 0 ? static_cast<Ps>(random.below(1u << 30)) : static_cast<Ps>(random.below(1u << 14));
      const Ps time = now + (random.below(20) == 0 ? 0 : wait);
      queue.push(s, time);
      expected.emplace(time, s);
    };
    for (std::uint32_t s = 0; s < sources; ++s) push(s, 0);
    for (int i = 0; i < 5000 && !expected.empty(); ++i) {
      EventQueue::Event e{};
      ASSERT_TRUE(queue.pop(e));
      ASSERT_EQ(std::make_pair(e.time, e.source), *expected.begin()) << "seed " << seed << " step " << i;
      expected.erase(expected.begin());
      if (random.below(100) != 0) push(e.source, e.time + 1);
      if (random.below(4) == 0 && !expected.empty()) {  // moves one forward, wherever it is
        auto moved = expected.begin();
        std::advance(moved, static_cast<std::ptrdiff_t>(random.below(expected.size())));
        const auto [time, source] = *moved;
        const Ps earlier = e.time + static_cast<Ps>(random.below(static_cast<std::uint64_t>(time - e.time) + 1));
        if (earlier == time || std::pair(earlier, source) < std::pair(e.time, e.source)) continue;
        expected.erase(moved);
        expected.emplace(earlier, source);
        queue.advance(source, earlier);
      }
    }
    EventQueue::Event e{};
    while (!expected.empty()) {
      ASSERT_TRUE(queue.pop(e));
      ASSERT_EQ(std::make_pair(e.time, e.source), *expected.begin());
      expected.erase(expected.begin());
    }
    EXPECT_FALSE(queue.pop(e));
  }
}

TEST(QueueHistogram, EveryLengthIsInsideItsStep) {
  for (std::uint32_t bytes = 64; bytes < 900'000; bytes += 37) {
    const std::uint32_t step = QueueHistogram::step(bytes);
    if (step + 1 < QueueHistogram::kSteps) EXPECT_LE(bytes, QueueHistogram::upper(step)) << bytes;
    EXPECT_GT(bytes, QueueHistogram::upper(step - 1)) << bytes;
  }
}

}  // namespace
}  // namespace busbar::packet
